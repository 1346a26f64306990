"""Changes of a table since an instant: two snapshots, compared by key and by the commit that wrote a row."""

from local.query.engine import Engine, quoted

CHANGE = "_change"
KEY = "_hoodie_record_key"
COMMIT = "_hoodie_commit_time"
NEEDED = (KEY, COMMIT)


def compare(engine: Engine, database: str, table: str, *, now: str, before: str) -> None:
    """Make `table` of the rows that differ between two loaded tables, with `_change` before their columns.

    insert: the key is new; update: another commit has written the row since, shown as it is now; delete: the key is
    gone, the row shown as it was before.
    """
    here = quoted(database)
    new, old, both = (f"{here}.{quoted(name)}" for name in (now, before, table))
    engine.run(
        f"CREATE TABLE {both} AS"
        f" SELECT CASE WHEN o.{KEY} IS NULL THEN 'insert' ELSE 'update' END AS {CHANGE}, n.*"
        f" FROM {new} AS n LEFT JOIN {old} AS o ON n.{KEY} = o.{KEY}"
        f" WHERE o.{KEY} IS NULL OR n.{COMMIT} IS DISTINCT FROM o.{COMMIT}"
        f" UNION ALL BY NAME SELECT 'delete' AS {CHANGE}, o.*"
        f" FROM {old} AS o ANTI JOIN {new} AS n ON n.{KEY} = o.{KEY}"
    )
    engine.run(f"DROP TABLE {new}")
    engine.run(f"DROP TABLE {old}")
