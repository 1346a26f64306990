"""Every setting of an environment, and values it could change to, one at a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from contract.lake import LANDING_PREFIX
from contract.source import OUTBOX_TABLE
from plugins.connector_names import events_topic
from settings import rules
from settings.environment import Environment
from settings.section import Section

# The file's name and the environment's location: other values describe another environment, and this one stays.
# Likewise another pipeline is a new one, and its own file says what it captures.
NOT_SETTINGS = frozenset({"name", "account", "region", "pipelines[0].name", "pipelines[0].captured"})
# Settings that only make sense together.
_EKS: Mapping[str, Any] = {
    "kubernetes_version": "1.33",
    "image": f"111111111111.dkr.ecr.ap-southeast-2.amazonaws.com/connect@sha256:{'0' * 64}",
}
TOGETHER: Mapping[str, Mapping[str, Any]] = {
    "connectors.platform": {
        "connectors.eks": _EKS,
        "pipelines[0].source.workers": 2,
        "pipelines[0].sink.workers": 2,
    },
    "database.restore": {"database.sample_data": False},
    "analytics.lake_formation_readers": {"analytics.lake_formation": True},
}
# Settings without effect unless others are set, before and after: no file sets those yet.
_ANALYSTS = {"analytics.quicksight_principal": "arn:aws:quicksight:us-east-1:{account}:group/default/analysts"}
GIVEN: Mapping[str, Mapping[str, str]] = {
    "analytics.import_mode": _ANALYSTS,
    "analytics.refresh": _ANALYSTS | {"analytics.import_mode": "SPICE"},
}
# Where neither the next number nor the negation is a realistic change, or only one direction is possible.
OTHERS: Mapping[str, tuple[Any, ...]] = {
    "availability_zones": (
        ("ap-southeast-2b", "ap-southeast-2c"),
        ("ap-southeast-2b", "ap-southeast-2a", "ap-southeast-2c"),
    ),
    "network.cidr": ("10.120.0.0/16",),
    "network.nat": ("gateways", "instances", "instance"),
    "network.nat_instance_type": ("t4g.micro",),
    "network.interface_endpoints": (("kms",),),
    "vpn.instance_type": ("t3.micro",),
    "vpn.client_cidrs": (("198.51.100.0/24",),),
    "vpn.users": (("alice",),),
    "vpn.management_cidrs": (("203.0.113.0/24",),),
    "database.engine_version": ("16.13", "16.10"),
    "database.instance_class": ("r6g.large",),
    "database.instances": (3, 1),
    "database.name": ("orders",),
    "database.secret_rotation_days": (7, 0),
    "database.restore": ({"name": "r1", "snapshot": "before-the-accident"},),
    "streaming.kafka_version": ("3.9.x.kraft", "3.8.x"),
    "streaming.broker_type": ("kafka.m5.xlarge", "kafka.m7g.large", "kafka.t3.small"),
    "streaming.brokers": (4, 6),
    "streaming.volume_gb": (500, 10),
    "streaming.largest_event_mib": (19,),
    "connectors.kafka_connect_version": ("2.7.1",),
    "connectors.eks": (_EKS,),
    "lake.database": ("orders",),
    "processing.release": ("emr-7.9.0",),
    "processing.primary_instance_type": ("m5.2xlarge",),
    "processing.core_instance_type": ("m5.2xlarge",),
    "processing.core_instances": (3, 0),
    "processing.maximum_core_instances": (8,),
    "processing.applications": (("Hadoop", "Hive", "Spark"),),
    "processing.driver_memory": ("3g",),
    "processing.executor_memory": ("6g",),
    "pipelines[0].topic_prefix": ("orders",),
    "pipelines[0].role": ("cdc_reader",),
    "pipelines[0].database": (
        {
            "host": "orders.example.com",
            "secret": "arn:aws:secretsmanager:ap-southeast-2:111111111111:secret:orders-AbCdEf",
            "cidrs": ("10.1.2.3/32",),
        },
    ),
    "pipelines[0].source.configuration": ({"heartbeat.interval.ms": "5000"},),
    "pipelines[0].sink.configuration": ({"connect.s3.retry.interval": "30000"},),
    "pipelines[0].sink.flush_interval_seconds": (120,),
    "pipelines[0].sink.flush_count": (1_000,),
    "pipelines[0].sink.partition_by": (("order_id",),),
    "pipelines[0].sink.kcql": (
        f"INSERT INTO {{landing}}:{LANDING_PREFIX} SELECT * FROM `{events_topic('msk')}` STOREAS `JSON` "
        "PROPERTIES('flush.interval'=30, 'flush.count'=2000)",
    ),
    "pipelines[0].sink.dead_letter_topic": ("cdc.dead-letters",),
    "pipelines[0].job.driver_memory": ("3g",),
    "pipelines[0].job.executor_memory": ("6g",),
    "pipelines[0].job.executors": (3,),
    "pipelines[0].job.read_again": ("2026-11-22",),
    "pipelines[0].job.configuration": ({"hoodie.clean.max.commits": "20"},),
    "pipelines[0].tables": ({OUTBOX_TABLE: {"sync_interval_seconds": 60}},),
    "analytics.quicksight_principal": tuple(
        f"arn:aws:quicksight:us-east-1:{account}:group/default/analysts" for account in ("111111111111", "222222222222")
    ),
    "analytics.lake_formation_readers": (("arn:aws:iam::111111111111:role/analyst",),),
    "monitoring.alarm_email": ("on-call@example.com",),
}


class NoOtherValueError(LookupError):
    """A setting without a known other value: add one to `OTHERS`."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A setting, `key` as in the file, its value and the new one. `refused`: why our own rules refuse it.

    `given`: the environment before the change, if not the file's: it has the settings that this one needs.
    """

    key: str
    before: Any
    after: Any
    environment: Environment | None
    refused: str = ""
    given: Environment | None = None


def changes(environment: Environment) -> Iterator[Change]:
    """Change every setting of the environment, one at a time. Raises NoOtherValueError."""
    for key, before, field in settings(environment):
        for after in _others(key, before, field):
            given = _given(environment, key)
            changed, refused = _changed(given or environment, key, after)
            yield Change(key=key, before=before, after=after, environment=changed, refused=refused, given=given)


def settings(section: Section, prefix: str = "") -> Iterator[tuple[str, Any, FieldInfo]]:
    """Every key of the file, including defaults; of a list of tables the first one's."""
    for name, field in type(section).model_fields.items():
        key, value = f"{prefix}{field.alias or name}", getattr(section, name)
        if key in NOT_SETTINGS:
            continue
        if isinstance(value, Section):
            yield from settings(value, f"{key}.")
        elif isinstance(value, tuple) and value and isinstance(value[0], Section):
            yield from settings(value[0], f"{key}[0].")
        else:
            yield key, value, field


def _others(key: str, before: Any, field: FieldInfo) -> list[Any]:
    known = [value for value in OTHERS.get(key, ()) if value != before]
    if known:
        return known
    match before:
        case bool():
            return [not before]
        case _ if choices := _choices(field.annotation):
            return [choices[(choices.index(before) + 1) % len(choices)]]
        case int():
            return [before + 1]
    raise NoOtherValueError(f"{key}: write into operate/changes/values.py what else it could be")


def _choices(annotation: Any) -> list[Any]:
    """The values of a Literal, also of an optional one."""
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    if get_origin(annotation) in (Union, UnionType):
        return [value for part in get_args(annotation) for value in _choices(part)]
    return []


def _set_all(values: dict[str, Any], key: str, after: Any) -> None:
    """Set a key and its companions."""
    for each, value in {key: after, **TOGETHER.get(key, {})}.items():
        _set(values, each, value)


def _set(values: Any, key: str, value: Any) -> None:
    *path, last = key.replace("[0]", ".0").split(".")
    for step in path:
        values = values[int(step)] if step.isdecimal() else values[step]
    values[last] = value


def changed_together(group: Sequence[Change]) -> Environment:
    """Return an environment with all of these changes; our rules accept each of them alone."""
    first = group[0].environment
    assert first is not None  # noqa: S101  the caller looked
    values: dict[str, Any] = first.model_dump(by_alias=True)
    for change in group:
        _set_all(values, change.key, change.after)
    return Environment.model_validate(values)


def _given(environment: Environment, key: str) -> Environment | None:
    """Return the environment with the settings that this one needs; None if none is missing."""
    values: dict[str, Any] = environment.model_dump(by_alias=True)
    for each, value in GIVEN.get(key, {}).items():
        _set(values, each, value.format(account=environment.account))
    given = Environment.model_validate(values)
    return None if given == environment or rules.broken(given) else given


def _changed(environment: Environment, key: str, after: Any) -> tuple[Environment | None, str]:
    """Return the changed environment, or None and why our rules refuse it."""
    values: dict[str, Any] = environment.model_dump(by_alias=True)
    _set_all(values, key, after)
    try:
        changed = Environment.model_validate(values)
    except ValidationError as error:
        return None, str(error.errors()[0]["msg"]).removeprefix("Value error, ")
    if problems := rules.broken(changed):
        return None, f"{problems[0][0]}: {problems[0][1]}"
    return changed, ""
