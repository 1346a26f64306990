"""Inputs for both sinks and each one's result: the rows of the table in docs/decisions/0040.

The connector's side was measured with 11.7.2.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

STAND_IN, CONNECTOR = "stand-in", "connector"
# A sink that has FAILED, or that never starts.
REFUSED = "refused"
RUNS = "runs"
OUTAGES = ("an outage of S3 of 15 s", "the same with PARTITIONBY")


@dataclass(frozen=True, kw_only=True)
class Value:
    """A record's value; its landed JSON values, or REFUSED, by sink."""

    name: str
    value: bytes | None
    landed: Mapping[str, list[Any] | str]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Changes to a valid configuration, which the stand-in refuses; REFUSED or RUNS by the connector.

    In a statement `{target}` and `{topic}` stand for the test's own.
    """

    name: str
    changes: Mapping[str, str]
    connector: str

    def changed(self, target: str, topic: str) -> dict[str, str]:
        return {key: text.replace("{target}", target).replace("{topic}", topic) for key, text in self.changes.items()}


def _both(name: str, value: bytes | None, *landed: Any) -> Value:
    return Value(name=name, value=value, landed={STAND_IN: list(landed), CONNECTOR: list(landed)})


def _differ(name: str, value: bytes, connector: list[Any] | str) -> Value:
    return Value(name=name, value=value, landed={STAND_IN: REFUSED, CONNECTOR: connector})


VALUES = [
    _both("an object", b'{"b": 1, "a": {"c": [true, null]}}', {"a": {"c": [True, None]}, "b": 1}),
    _both("no value", None),
    _both("JSON null", b"null"),
    _both("empty value", b""),
    _both("blanks alone", b" \n "),
    _both("equal names", b'{"a": 1, "a": 2}', {"a": 2}),
    _both("the largest long", b'{"a": 9223372036854775807}', {"a": 2**63 - 1}),
    _both("a double", b'{"a": 0.1, "b": 9.999999999999999E22}', {"a": 0.1, "b": 1e23}),
    _both("a long number as text", b'{"a": "123456789012345678901234567890"}', {"a": "123456789012345678901234567890"}),
    _both("a document as text", json.dumps({"a": '{"b": 1e999}'}).encode(), {"a": '{"b": 1e999}'}),
    _both("ä, €, 😀, on a worker started with LANG=C", '{"a": "ä€😀"}'.encode(), {"a": "ä€😀"}),
    _differ("a number beyond a long", b'{"a": 123456789012345678901234567890}', [{"a": -4362896299872285998}]),
    _differ("a number beyond a double", b'{"a": 1234567890.1234567890}', [{"a": 1234567890.1234567}]),
    _differ("not JSON", b"not JSON", REFUSED),
]

_FROM = "INSERT INTO {target} SELECT * FROM {topic} STOREAS `JSON`"
_FLUSH = " PROPERTIES('flush.interval'=1,'flush.count'=5)"


def _setting(name: str, connector: str, **changes: str) -> Setting:
    dotted = {key.replace("_", "."): value for key, value in changes.items()}
    return Setting(name=name, changes=dotted, connector=connector)


SETTINGS = [
    _setting("misspelt KCQL property", RUNS, connect_s3_kcql=_FROM + " PROPERTIES('flush.intreval'=1)"),
    _setting("no flush rule", RUNS, connect_s3_kcql=_FROM),
    _setting("misspelt property", RUNS, connect_s3_eror_policy="RETRY"),
    _setting("error.policy NOOP", RUNS, connect_s3_error_policy="NOOP"),
    _setting("errors.tolerance all, no dead-letter topic", RUNS, errors_tolerance="all"),
    _setting("quoted number in KCQL", REFUSED, connect_s3_kcql=_FROM + " PROPERTIES('flush.count'='5')"),
    _setting("WITH_FLUSH clause", REFUSED, connect_s3_kcql=_FROM + " WITH_FLUSH_COUNT = 5"),
    _setting("unquoted keyword", REFUSED, connect_s3_kcql=_FROM.replace("{target}", "{target}.limit") + _FLUSH),
    _setting("= in an unquoted prefix", REFUSED, connect_s3_kcql=_FROM.replace("{target}", "{target}/y=1") + _FLUSH),
]
