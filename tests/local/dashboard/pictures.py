"""Pictures of platforms for tests."""

from typing import Any

from contract.states import Word
from local.dashboard.changes import Change
from local.dashboard.files import Reconciled
from local.dashboard.history import Commit, Failure
from local.dashboard.kept import CAPTURED, TableRow
from local.dashboard.quarantine import QuarantinedLine
from local.dashboard.stages import Stage
from local.dashboard.state import State
from local.dashboard.watcher import Picture
from local.look.status import ServiceStatus
from local.platform.services import HISTORY

AT = 1_795_346_725.0  # 11:25:25 UTC
SCRIPT = "<script>alert(1)</script>"


def picture(**changed: Any) -> Picture:
    """A picture with something of everything."""
    given: dict[str, Any] = {
        "at": AT,
        "pipeline": "orders",
        "state": State(word=Word.MOVING, reason="2 events on their way"),
        "stages": (Stage(name="landing", position="next offset 7", lag_s=1.25, lag_events=2, rate=0.5, last=AT),),
        "services": (ServiceStatus(name="job", running=True, pid=1, rss_bytes=5_000_000, restarts=2),),
        "tables": (
            TableRow(table="datalake.cdc_events", kind=CAPTURED, rows=826, last_commit="20261122112512000"),
            TableRow(table="items_history", kind=HISTORY, state="starting"),
        ),
        "commits": (commit("20261122112531744", inserted=829), commit("20261122112945201", updated=1, deleted=3)),
        "failures": (Failure(text="job is dead", at=AT, ended=AT + 5),),
        "changes": (
            Change(
                table="datalake.cdc_events",
                offset=829,
                what="updated",
                key="order_id = 11077",
                at=AT,
                columns=(("shipped_date", "NULL", "2026-11-22"),),
                seen=True,
            ),
        ),
        "put_aside": (
            QuarantinedLine(
                table="datalake.cdc_events",
                reason="not JSON",
                origin="a.json, line 3",
                at="2026-11-22T11:26:00",
                text=SCRIPT,
            ),
        ),
        "reconciled": Reconciled(at="2026-11-22T11:30:00+00:00", equal=True, tables=("cdc_events: equal, 829 rows",)),
    }
    return Picture(**{**given, **changed})


def commit(instant: str, *, inserted: int = 0, updated: int = 0, deleted: int = 0) -> Commit:
    """A commit of the orders' table, at the time of its instant."""
    return Commit(
        table="datalake.cdc_events",
        instant=instant,
        at=AT,
        inserted=inserted,
        updated=updated,
        deleted=deleted,
        progress="",
    )
