"""Says what is looked at, by the catalogue: which columns events have, and whether the key tells rows apart."""

from collections.abc import Callable, Sequence

from contract.avro_names import no_key
from contract.column_types.carried import Carried
from spark_jobs.errors import JobError, SettingsError
from spark_jobs.options import keys
from spark_jobs.options.jdbc_settings import JdbcSettings
from spark_jobs.sources.postgres.access import Look
from spark_jobs.sources.postgres.control import (
    TABLES,
    Control,
    read_query_columns,
    read_table_columns,
    refuse_other_keys,
)
from spark_jobs.sources.postgres.event_sql import not_sent, sent
from spark_jobs.sources.postgres.relation import Relation, source_of


def described(
    look: Look, control: Control, settings: JdbcSettings, key: Sequence[str], log: Callable[[str], None]
) -> Relation:
    """Return a table, view or query with its columns; `key` are the key's, by the source's names.

    `log` gets a line for each column that can't be carried. Raises JobError or SettingsError for a key that isn't one,
    and for columns that aren't there.
    """
    if settings.query is None:
        columns = read_table_columns(look, settings)
    else:
        columns = read_query_columns(look, source_of(settings))
    named = {column.name: column for column in columns}
    for name in settings.left_out:
        if name not in named:
            raise SettingsError(f"{keys.JDBC_LEFT_OUT}: {settings.name} has no column {name}")
        if name in key:
            raise SettingsError(f"{keys.JDBC_LEFT_OUT}: {name} is the key's, by which rows are told")
    for name, reason in not_sent(columns, leave_out=settings.left_out).items():
        log(f"{settings.name}: column {name} is left out: {reason}")
    if lacking := [name for name in key if name not in named]:
        raise JobError(f"{settings.name} has no column {', '.join(lacking)}, which the record key names")
    for name in key:
        kind = named[name].carried
        if isinstance(kind, Carried) and (why := no_key(kind.avro)):
            raise JobError(f"{settings.name}: column {name} of the record key tells no rows apart: {why}")
    if control.kind in TABLES:
        refuse_other_keys(look, settings, key)
    return Relation(
        settings=settings,
        columns=sent(columns, leave_out=settings.left_out),
        key=tuple(named[name] for name in key),
        is_unique=control.has_unique_keys,
    )
