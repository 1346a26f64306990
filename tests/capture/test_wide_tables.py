"""A table with PostgreSQL's maximum number of columns is described, and prepared with one of them left out."""

import contextlib
import json
from pathlib import Path

import psycopg2
import pytest

from local.services.postgres import ConnectionParameters
from tests.capture.test_commands import Folder
from tests.conftest import execute

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("no_role")]
MOST_COLUMNS = 1600


def test_1600_columns_are_in_the_schema_and_all_but_one_may_be_read(
    tmp_path: Path, database: ConnectionParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = ", ".join(f"c{number} int" for number in range(1, MOST_COLUMNS))
    execute(database, f"CREATE TABLE wide (id int PRIMARY KEY, {columns})")
    folder = Folder(tmp_path, database, monkeypatch)
    assert folder.run("describe").exit_code == 0
    assert {"id", *(f"c{number}" for number in range(1, MOST_COLUMNS))} <= folder.fields("wide").keys()
    (tmp_path / "mine.toml").write_text(folder.text() + 'leave_out = ["c7"]\n', encoding="utf-8")
    schema = json.loads((tmp_path / "mine" / "wide.avsc").read_text(encoding="utf-8"))
    schema["fields"] = [field for field in schema["fields"] if field["name"] != "c7"]
    (tmp_path / "mine" / "wide.avsc").write_text(json.dumps(schema), encoding="utf-8")
    done = folder.run("prepare", CDC_CONNECTOR_PASSWORD="Secret/1")
    assert done.exit_code == 0, done.output
    with contextlib.closing(psycopg2.connect(**database)) as connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = 'wide'::regclass AND attnum > 0"
            " AND NOT has_column_privilege('cdc_connector', attrelid, attnum, 'SELECT')"
        )
        assert cursor.fetchall() == [("c7",)]
