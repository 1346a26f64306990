"""Everything that the contract says is changed, in a copy of the project: each part that carries it changes, too."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from contract import (
    avro_names,
    capture_objects,
    events,
    lake,
    metrics,
    source,
    source_tags,
    special_values,
    states,
    stop_file,
    tags,
)
from tests.contract.mutation import ROOT, copy_mutated, pattern

REPORT = Path(__file__).with_name("report.py")
OUTBOX = (source.SCHEMA, source.OUTBOX_TABLE)
FIELDS = (events.OPERATION, events.LSN, events.DATABASE, events.TABLE, events.SCHEMA, events.SOURCE_TIME_MS)
STATES = (*states.Word, *states.STAGES)
# Part → the names that it carries.
CARRIED = {
    "source connector": (
        *OUTBOX,
        *(source.DATABASE, source.PUBLICATION, source.SLOT, source.HEARTBEAT_PROCEDURE),
        *(capture_objects.CONNECTOR_ROLE, events.PREFIX, events.PLACEHOLDER),
    ),
    "sink connector": (*OUTBOX, lake.LANDING_PREFIX),
    "failures": OUTBOX,
    "SQL": (
        *OUTBOX,
        *(source.HEARTBEAT_TABLE, source.HEARTBEAT_PROCEDURE, source.PUBLICATION, capture_objects.CONNECTOR_ROLE),
    ),
    "statements": (source.SCHEMA,),
    "prepared": (*OUTBOX, source.HEARTBEAT_TABLE),
    "dump": (source.OUTBOX_TABLE, source.HEARTBEAT_TABLE),
    "platform": (*OUTBOX, lake.DATABASE),
    "local job": (lake.LANDING_PREFIX, lake.DATABASE, source.OUTBOX_TABLE, events.LSN),
    "demo": (source.SCHEMA,),
    "reconcile": OUTBOX,
    "quarantine": (lake.QUARANTINE_FOLDER, source.OUTBOX_TABLE),
    "named queries": (lake.DATABASE, source.OUTBOX_TABLE),
    "schema": (*OUTBOX, *FIELDS, events.DELETED),
    "job's defaults": (events.LSN, events.READ_MS, lake.QUARANTINE_FOLDER),
    "pipeline": (*OUTBOX, source.DATABASE, source.PUBLICATION, source.SLOT, capture_objects.CONNECTOR_ROLE, events.LSN),
    "handlers": (
        *(tags.OWNER, tags.ASKED, tags.SHOWN, tags.CREATED_BY, tags.FORMER_OWNER, stop_file.TOKEN),
        *(source_tags.PREPARED_BY, source_tags.RESNAPSHOT),
    ),
    "types": (
        *(avro_names.SOURCE_NAME, avro_names.TEXT_AS_BYTES, avro_names.SPECIALS, avro_names.PATH, avro_names.HSTORE),
        special_values.SPECIALS_COLUMN,
    ),
    "job's types": (
        *(avro_names.TEXT_AS_BYTES, avro_names.SPECIALS, avro_names.PATH, avro_names.HSTORE),
        events.EVENT_ID,
    ),
    "metrics": (
        *(metrics.COMMIT_AGE_SECONDS, metrics.COMMITS, metrics.FAILED_ATTEMPTS, metrics.EVENTS, metrics.UPSERTS),
        *(metrics.DELETES, metrics.QUARANTINED, metrics.MISSING_OFFSETS, metrics.LATE_FILES, metrics.DIMENSION),
        *(metrics.IGNORED_TRUNCATES, metrics.HORIZON_AGE_SECONDS),
    ),
    "live page": STATES,
    "CloudWatch": STATES,
    "own tables": (capture_objects.HEARTBEAT, capture_objects.SIGNAL),
}
# The same of the templates of an environment.
IN_TEMPLATES = (
    *OUTBOX,
    *(source.PUBLICATION, source.SLOT, source.HEARTBEAT_PROCEDURE, capture_objects.CONNECTOR_ROLE),
    *(events.PLACEHOLDER, events.LSN, lake.LANDING_PREFIX, tags.OWNER, tags.CLUSTER, stop_file.TOKEN),
    *(metrics.DIMENSION, metrics.QUARANTINED, metrics.COMMIT_AGE_SECONDS, metrics.LAG_SECONDS, metrics.EVENTS),
    *(metrics.COMMIT_SECONDS, metrics.MISSING_OFFSETS, metrics.LATE_FILES, metrics.FAILED_ATTEMPTS, source_tags.KEYS),
    *STATES,
)
# In templates, and elsewhere, these words are also AWS's and everybody's.
COMMON = {
    *STATES,
    capture_objects.HEARTBEAT,
    capture_objects.SIGNAL,
    metrics.DIMENSION,
    metrics.EVENTS,
    metrics.COMMITS,
    metrics.DELETES,
    metrics.UPSERTS,
}


@dataclass(frozen=True)
class Copy:
    """The copy's folder, and the old names with the new ones."""

    folder: Path
    names: dict[str, str]

    def run(self, *arguments: str) -> str:
        environment = os.environ | {"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, *arguments], cwd=self.folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def check(self, text: str, carried: tuple[str, ...], common: frozenset[str] = frozenset()) -> None:
        """No old name stands there, and each new one that should."""
        old = {name: new for name, new in self.names.items() if name not in common and len(name) > 2}
        assert sorted(set(pattern(old).findall(text))) == []
        assert [name for name in carried if not _says(text, self.names[name])] == []


def _says(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    folder = tmp_path_factory.mktemp("copy")
    return Copy(folder, copy_mutated(folder))


@pytest.fixture(scope="module")
def report(copy: Copy) -> dict[str, Any]:
    parts: dict[str, Any] = json.loads(copy.run(str(REPORT)))
    return parts


@pytest.mark.parametrize("part", CARRIED)
def test_a_part_follows_the_contract(copy: Copy, report: dict[str, Any], part: str) -> None:
    # Keys that the others give their own meaning: {"schema": …} of a pipeline's table, "table".
    common = frozenset(COMMON) - set(CARRIED[part])
    copy.check(json.dumps(report[part], ensure_ascii=False), CARRIED[part], common)


def test_every_value_of_the_contract_is_looked_for_in_some_part(copy: Copy) -> None:
    carried = {name for names in (*CARRIED.values(), IN_TEMPLATES) for name in names}
    assert copy.names.keys() - carried == set()


def test_every_part_that_reports_is_looked_at(report: dict[str, Any]) -> None:
    assert report.keys() == CARRIED.keys()


@pytest.mark.synth
def test_the_templates_follow_the_contract(copy: Copy) -> None:
    for shared in (".cache", "node_modules"):
        if (ROOT / shared).exists():
            (copy.folder / shared).symlink_to(ROOT / shared)
    copy.run("app.py")
    templates = sorted((copy.folder / "cdk.out").rglob("*.template.json"))
    assert templates
    copy.check("\n".join(path.read_text() for path in templates), IN_TEMPLATES, frozenset(COMMON))
