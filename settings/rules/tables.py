"""From the topic to the table: schemas, jobs, where they run and where they write."""

import json
from collections.abc import Iterator
from pathlib import Path

from contract.events import ORDERING
from plugins import connectors
from settings import emr_offers
from settings.environment import Environment, Table
from settings.rules.problem import Problem, Rule

# What Spark itself reserves (300 MiB), and as much again.
SMALLEST_HEAP_MB = 600
ROOT = Path(__file__).resolve().parents[2]
JOBS, SCHEMAS = ROOT / "spark_jobs", ROOT / "pipelines" / "orders"


def tables(environment: Environment) -> Iterator[Problem]:
    """From end to end: outbox table → topic → schema → Glue table."""
    topic = connectors.events_topic(environment.connectors.topic_prefix)
    for field in ("name", "path"):
        values = [getattr(table, field) for table in environment.tables]
        for value in sorted({value for value in values if values.count(value) > 1}):
            yield f"tables.{field}", f"{value!r} is given twice: two jobs would write the same table"
    for number, table in enumerate(environment.tables):
        where = f"tables[{number}]"
        if table.topic != topic:
            yield f"{where}.topic", f"{table.topic} isn't what the source connector writes: {topic}"
        if not (JOBS / "conf" / table.properties).is_file():
            yield f"{where}.properties", f"there is no spark_jobs/conf/{table.properties}"
        yield from _schema(where, table, environment.connectors.topic_prefix)


def _schema(where: str, table: Table, topic_prefix: str) -> Iterator[Problem]:
    """The schema describes what the topic carries, and has the field that orders changes."""
    path = SCHEMAS / table.schema_file
    if not path.is_file():
        yield f"{where}.schema", f"there is no pipelines/orders/{table.schema_file}"
        return
    try:
        schema = json.loads(path.read_text(encoding="utf-8"))
        full_name = f"{schema.get('namespace')}.{schema.get('name')}"
        fields = {field["name"] for field in schema.get("fields", [])}
    except (ValueError, AttributeError, LookupError, TypeError):
        yield f"{where}.schema", f"pipelines/orders/{table.schema_file} isn't an Avro schema: run `make schema`"
        return
    if full_name != connectors.EVENTS_TABLE:
        topic = connectors.events_topic(topic_prefix)
        yield (
            f"{where}.schema",
            f"{table.schema_file} describes {full_name}, but {topic} carries {connectors.EVENTS_TABLE}",
        )
    elif table.source_ordering_field not in fields:
        yield (
            f"{where}.source_ordering_field",
            f"{table.source_ordering_field!r} isn't a field of {table.schema_file}: "
            f"set {ORDERING}, the order of changes",
        )


def lake(environment: Environment) -> Iterator[Problem]:
    """What has landed stays until somebody has been able to look, and as long as Kafka has it."""
    hours = environment.lake.landing_expiry_days * 24
    if hours * 60 <= environment.monitoring.commit_age_minutes:
        yield "lake.landing_expiry_days", "objects would expire before an alarm says that the job doesn't read them"
    if hours < environment.streaming.topic_retention_hours:
        yield (
            "lake.landing_expiry_days",
            "objects would expire before their events do in Kafka: set as many days as "
            f"streaming.topic_retention_hours ({environment.streaming.topic_retention_hours}) has, or more",
        )


def processing(environment: Environment) -> Iterator[Problem]:
    """Releases, types and applications are EMR's, and go together."""
    settings = environment.processing
    if settings.release not in emr_offers.RELEASES:
        known = ", ".join(sorted(emr_offers.RELEASES))
        yield "processing.release", f"{settings.release} isn't a release that the job was written for: {known}"
    types = emr_offers.INSTANCE_TYPES.get(environment.region)
    if types is None:
        known = ", ".join(sorted(emr_offers.INSTANCE_TYPES))
        yield "region", f"we have no list of EMR instance types for {environment.region}, only for {known}"
        return
    for key in ("primary_instance_type", "core_instance_type"):
        if (chosen := getattr(settings, key)) not in types:
            yield f"processing.{key}", f"EMR has no {chosen} in {environment.region}: {', '.join(sorted(types))}"
    if 0 < settings.maximum_core_instances < settings.core_instances:
        yield "processing.maximum_core_instances", "must be 0 (no managed scaling) or at least core_instances"
    for application in settings.applications:
        if application not in emr_offers.APPLICATIONS:
            known = ", ".join(sorted(emr_offers.APPLICATIONS))
            yield "processing.applications", f"{application!r} isn't one of {known}"
    if not {"Hadoop", "Hive", "Spark"} <= set(settings.applications):
        yield "processing.applications", "Hadoop, Hive and Spark are needed by the job"
    if {"Presto", "Trino"} <= set(settings.applications):
        yield "processing.applications", "EMR installs Presto or Trino, not both on one cluster: choose one"


def memory(environment: Environment) -> Iterator[Problem]:
    """Every container fits on a core node: YARN would refuse the job, minutes after the deployment."""
    largest = emr_offers.YARN_MEMORY_MB.get(environment.processing.core_instance_type)
    if largest is None:
        return
    for number, table in enumerate(environment.tables):
        for key in ("driver_memory", "executor_memory"):
            given = getattr(table, key)
            heap = int(given[:-1]) * (1024 if given.endswith("g") else 1)
            if heap < SMALLEST_HEAP_MB:
                yield f"tables[{number}].{key}", f"{given} is too little for Spark: set {SMALLEST_HEAP_MB}m or more"
            elif _container(heap) > largest:
                yield (
                    f"tables[{number}].{key}",
                    f"{given} and its overhead don't fit on a {environment.processing.core_instance_type}, which has "
                    f"{largest} MB for containers: set less, or a larger processing.core_instance_type",
                )


def _container(heap_mb: int) -> int:
    """Spark's spark.driver.memoryOverhead and its like: a tenth, and 384 MiB at the least."""
    return heap_mb + max(384, heap_mb // 10)


RULES: tuple[Rule, ...] = (tables, lake, processing, memory)
