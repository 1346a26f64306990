"""Reads a logical replication slot through pgoutput, the plug-in that Debezium uses."""

import io
import struct
from dataclasses import dataclass
from typing import Any

from psycopg2.extensions import connection as Connection

Values = dict[str, str | None]


@dataclass(frozen=True)
class Event:
    """A change: c, u or d; its transaction; the new and the old row."""

    op: str
    table: str
    xid: int
    after: Values | None
    before: Values | None

    @property
    def order_id(self) -> int:
        """The outbox row's key."""
        row = self.after or self.before
        assert row is not None
        assert row["order_id"] is not None
        return int(row["order_id"])


class _Message(io.BytesIO):
    """A message of the protocol, read sequentially."""

    def number(self, layout: str) -> int:
        (value,) = struct.unpack(f">{layout}", self.read(struct.calcsize(f">{layout}")))
        return int(value)

    def letter(self) -> str:
        return self.read(1).decode()

    def text(self) -> str:
        return b"".join(iter(lambda: self.read(1), b"\0")).decode()

    def row(self, columns: list[str], before: Values | None = None) -> Values:
        """Read a tuple.

        An unchanged TOAST value ('u') is taken from the old row, as Debezium does; if that lacks it, the lake would get
        a placeholder: that must not occur.
        """
        values: Values = {}
        assert self.number("h") == len(columns)
        for column in columns:
            kind = self.letter()
            if kind == "u":
                assert before is not None, f"{column} has no value"
                assert before[column] is not None, f"{column} has no value"
                values[column] = before[column]
            else:
                values[column] = self.read(self.number("i")).decode() if kind == "t" else None
        return values


class Slot:
    """A replication slot of one database."""

    def __init__(self, connection: Connection, name: str, publication: str = "cdc_publication") -> None:
        self._connection = connection
        self._name = name
        self._publication = publication
        self._relations: dict[int, tuple[str, list[str]]] = {}
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (name,))

    def events(self) -> list[Event]:
        """Return what was committed since the last call, in commit order."""
        with self._connection.cursor() as cursor:
            cursor.execute(
                "SELECT data FROM pg_logical_slot_get_binary_changes(%s, NULL, NULL,"
                " 'proto_version', '1', 'publication_names', %s)",
                (self._name, self._publication),
            )
            messages: list[Any] = cursor.fetchall()
        events: list[Event] = []
        xid = 0
        for (data,) in messages:
            message = _Message(bytes(data))
            kind = message.letter()
            if kind == "B":
                message.read(16)
                xid = message.number("I")
            elif kind == "R":
                self._read_relation(message)
            elif kind in "IUD":
                events.append(self._read_change(kind, message, xid))
            else:
                assert kind in "CYO", f"unexpected message {kind!r}"
        return events

    def _read_relation(self, message: _Message) -> None:
        key = message.number("I")
        schema, table = message.text(), message.text()
        message.read(1)
        columns = []
        for _ in range(message.number("h")):
            message.read(1)
            columns.append(message.text())
            message.read(8)
        self._relations[key] = (f"{schema}.{table}", columns)

    def _read_change(self, kind: str, message: _Message, xid: int) -> Event:
        table, columns = self._relations[message.number("I")]
        before = after = None
        what = message.letter()
        if what in "KO":
            # K would be the key alone: REPLICA IDENTITY FULL sends the whole old row.
            assert what == "O" or table.endswith("cdc_heartbeat")
            before = message.row(columns)
            what = message.letter()
        if kind in "IU":
            assert what == "N"
            after = message.row(columns, before)
        return Event({"I": "c", "U": "u", "D": "d"}[kind], table, xid, after, before)
