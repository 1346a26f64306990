"""Columns that PostgreSQL hashes while it is read, as Debezium does: their values in clear don't leave it.

The salt is a setting of the reader's session, given as it connects: it is in no statement, log or plan.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from contract.column_types.catalogue import ColumnType, quoted, without_domains
from contract.column_types.hashes import SALT_KEY, hash_digits
from spark_jobs.errors import SettingsError
from spark_jobs.options import keys
from spark_jobs.options.jdbc_settings import FirstLoadSettings
from spark_jobs.sources.postgres.access import ReadText, of_secret
from spark_jobs.sources.postgres.event_sql import SourceColumn
from spark_jobs.sources.postgres.relation import Relation

_SETTING = "cdc_lake.salt"
# PostgreSQL takes the session's settings as words: a backslash stands before one.
_SALT = re.compile(r"[!-\[\]-~]{16,}")
_TEXTS = ("text", "varchar", "bpchar")


@dataclass(frozen=True, kw_only=True)
class Hashing:
    """The names of a table's hashed columns, and the salt."""

    columns: tuple[str, ...]
    salt: str = field(repr=False)

    def properties(self, given: str = "") -> dict[str, str]:
        """Return the driver's property by which a reader's session has the salt, behind the `given` options."""
        return {"options": f"{given} -c {_SETTING}={self.salt}".strip()} if self.columns else {}

    def hashed(self, relation: Relation) -> Relation:
        """Return a relation whose hashed columns are texts. Raises SettingsError for a column that isn't there."""
        if not self.columns:
            return relation
        named = {column.name: column for column in relation.columns}
        for name in self.columns:
            if name not in named or not _is_text(named[name]):
                raise SettingsError(f"{keys.FIRST_LOAD_HASHED}: {relation.settings.name} has no text {name}")
        texts = {name: SourceColumn(name=name, type=ColumnType(name="text")) for name in self.columns}
        columns = tuple(texts.get(one.name, one) for one in relation.columns)
        return replace(relation, columns=columns, part=self.source(relation.source, relation.columns))

    def source(self, source: str, columns: Sequence[SourceColumn], *, places: bool = False) -> str:
        """Write the FROM item in the place of a `source`, with the columns' hashes.

        `places`: with the rows' places, too, which a role with column grants may not read.
        """
        if not self.columns:
            return source
        given = ["t.ctid"] if places else []
        given += [_sql(one) if one.name in self.columns else f"t.{quoted(one.name)}" for one in columns]
        return f"(SELECT {', '.join(given)} FROM {source}) AS t"  # noqa: S608  (names are quoted)


def hashing(settings: FirstLoadSettings, read_text: ReadText) -> Hashing:
    """Return what is hashed, with the present salt. Raises SettingsError where that is none, and boto3's errors."""
    salt = ""
    if settings.hashed and settings.salt_secret is not None:
        found: Any = of_secret(settings.salt_secret)
        salt = str(found.get(SALT_KEY, "")) if isinstance(found, dict) else found
    elif settings.hashed and settings.salt_file is not None:
        salt = read_text(settings.salt_file).rstrip("\r\n")
    if settings.hashed and not _SALT.fullmatch(salt):
        where = f"say {keys.FIRST_LOAD_SALT_FILE} or {keys.FIRST_LOAD_SALT_SECRET}"
        raise SettingsError(
            f"{keys.FIRST_LOAD_HASHED}: the salt must be 16 ASCII characters or more, without blank and backslash: "
            f"{settings.salt_secret or settings.salt_file or where}"
        )
    return Hashing(columns=settings.hashed, salt=salt)


def _is_text(column: SourceColumn) -> bool:
    base, _ = without_domains(column.type, column.modifier)
    return base.kind == "enum" or (base.schema == "pg_catalog" and base.name in _TEXTS)


def _sql(column: SourceColumn) -> str:
    """Write a column's hash: concat() keeps the blanks of a char(n), which the log has, too."""
    name = f"t.{quoted(column.name)}"
    digits = hash_digits(column.type, column.modifier)
    hashed = f"encode(sha256(convert_to(concat(current_setting('{_SETTING}'), {name}), 'UTF8')), 'hex')"
    return f"CASE WHEN {name} IS NOT NULL THEN left({hashed}, {digits}) END AS {quoted(column.name)}"
