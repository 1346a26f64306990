"""Pictures of platforms for tests."""

import json
from typing import Any

from contract.states import Word
from local.dashboard.changes import Change
from local.dashboard.commit_log import Logged
from local.dashboard.watcher import Picture
from local.platform.job import TableState
from local.platform.services import HISTORY
from local.state.collect import PipelineState
from local.state.history import Commit, Failure
from local.state.quarantine import Quarantined, QuarantinedLine
from local.state.services import ServiceStatus
from local.state.stages import Stage
from local.state.tables import DataStatus, TableStatus
from local.state.word import State
from spark_jobs.runtime.metrics import CommitReport

AT = 1_795_346_725.0  # 11:25:25 UTC
SCRIPT = "<script>alert(1)</script>"
TABLE = "datalake.cdc_events"
QUARANTINED = QuarantinedLine(
    table=TABLE, reason="not JSON", origin="a.json, line 3", at="2026-11-22T11:26:00", text=SCRIPT
)
SCHEMA = json.dumps({"fields": [{"name": "order_id", "type": ["null", "int"]}, {"name": "__op", "type": "string"}]})


def picture(**changed: Any) -> Picture:
    """A picture with something of everything; a changed part may be one of its PipelineState."""
    found: dict[str, Any] = {
        "state": State(word=Word.MOVING, reason="2 events on their way"),
        "stages": (
            Stage(name="landing", position="next offset 7", lag_s=1.25, lag_events=2, rate=0.5, last=AT),
            Stage(name="job", position="next offset 7", lag_s=0.0, lag_events=0, last=AT),
            Stage(name="lake"),
        ),
        "problems": (),
        "services": (ServiceStatus(name="job", running=True, pid=1, rss_bytes=5_000_000, restarts=2),),
        "tables": (
            TableStatus(
                name=TABLE,
                topic_end=829,
                read_to=827,
                lake_rows=826,
                last_commit="20261122112512000",
                quarantined=Quarantined(events=1, newest=(QUARANTINED,)),
            ),
            TableStatus(name="items_history", kind=HISTORY, state=TableState(state="starting")),
        ),
    }
    given: dict[str, Any] = {
        "at": AT,
        "pipeline": "orders",
        "commits": {
            TABLE: [commit("20261122112531744", inserted=829), commit("20261122112945201", updated=1, deleted=3)]
        },
        "schemas": {TABLE: SCHEMA},
        "logged": tuple(Logged(at=AT + 60 * number, rows=number % 7, lag_s=number / 10) for number in range(100)),
        "failures": (Failure(text="job is dead", at=AT, ended=AT + 5),),
        "changes": {
            TABLE: [
                Change(
                    table=TABLE,
                    what="updated",
                    key="order_id = 11077",
                    at=AT,
                    columns=(("shipped_date", "NULL", "2026-11-22"),),
                )
            ]
        },
        "reconciled": ("2026-11-22 11:30:00 UTC: equal", "cdc_events: equal, 829 rows"),
    }
    found |= {name: changed.pop(name) for name in [*changed] if name in found}
    state = PipelineState(data=DataStatus(tables=found.pop("tables")), **found)
    return Picture(found=state, **{**given, **changed})


def commit(instant: str, *, inserted: int = 0, updated: int = 0, deleted: int = 0) -> Commit:
    """A commit of the orders' table, at the time of its instant."""
    return Commit(
        instant=instant,
        at=AT,
        inserted=inserted,
        updated=updated,
        deleted=deleted,
        progress="",
    )


def line(instant: str, *, upserts: int = 3, lag: str = "1.5", table: str = "") -> str:
    """A commit's line in the job's log."""
    report = CommitReport(commit=instant, files=1, events=9, upserts=upserts, deletes=0, seconds=2, lag_seconds=None)
    return report.line().replace("lag_seconds=-", f"lag_seconds={lag}") + (f" table={table}" if table else "") + "\n"
