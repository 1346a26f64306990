"""Rules for how long landed objects are kept, and for the cluster of the jobs that read them."""

from collections.abc import Iterator, Mapping, Sequence

from settings import aws_offers
from settings.environment import Environment
from settings.rules.problem import Problem
from spark_jobs.options.submit import MASTER_MB, container_mb

# Spark's own reserve (300 MiB), and as much again.
SMALLEST_HEAP_MB = 600


def lake(environment: Environment) -> Iterator[Problem]:
    """Require that landed objects stay until an operator could react, and as long as Kafka has their events."""
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
    settings = environment.processing
    if not {"Hadoop", "Hive", "Spark"} <= set(settings.applications):
        yield "processing.applications", "Hadoop, Hive and Spark are needed by the job"
    if {"Presto", "Trino"} <= set(settings.applications):
        yield "processing.applications", "EMR installs Presto or Trino, not both on one cluster: choose one"
    # Managed scaling adds to core nodes that are there.
    if 0 < settings.maximum_core_instances < settings.core_instances:
        yield "processing.maximum_core_instances", "must be 0 (no managed scaling) or at least core_instances"
    if settings.maximum_core_instances and not settings.core_instances:
        yield (
            "processing.maximum_core_instances",
            "must be 0 with core_instances = 0: a cluster of its primary node alone has no group that could grow",
        )


def memory(environment: Environment) -> Iterator[Problem]:
    """Check that every container fits on its nodes, and that all fit together: YARN would silently let a job wait."""
    settings = environment.processing
    which = "core" if settings.core_instances else "primary"
    type_ = settings.core_instance_type if settings.core_instances else settings.primary_instance_type
    largest = aws_offers.YARN_MEMORY_MB[type_]
    sizes = list(_applications(environment))
    for where, key, given in ((where, key, given) for where, by_key, _ in sizes for key, given in by_key.items()):
        if _heap(given) < SMALLEST_HEAP_MB:
            yield f"{where}.{key}", f"{given} is too little for Spark: set {SMALLEST_HEAP_MB}m or more"
        elif container_mb(_heap(given)) > largest:
            yield (
                f"{where}.{key}",
                f"{given} and its overhead don't fit on a {type_}, which has {largest} MB for containers: set less, or "
                f"a larger processing.{which}_instance_type",
            )
    yield from _all_of_them(environment, [(by_key, executors) for _, by_key, executors in sizes], largest)


def _all_of_them(
    environment: Environment, applications: Sequence[tuple[Mapping[str, str], int]], largest: int
) -> Iterator[Problem]:
    """Check executors, which share core nodes with the masters, and drivers, on the primary node with YARN's own."""
    settings = environment.processing
    nodes = max(settings.core_instances, settings.maximum_core_instances)
    masters = [container_mb(MASTER_MB)] * len(applications)
    executors = [container_mb(_heap(by_key["executor_memory"])) for by_key, count in applications for _ in range(count)]
    drivers = sum(container_mb(_heap(by_key["driver_memory"])) for by_key, _ in applications)
    asked = sum(executors) + sum(masters)
    if not settings.core_instances:
        # Both kinds of node leave the rest to daemons, so drivers count as if they were YARN's.
        if drivers + asked > largest:
            yield (
                "processing.core_instances",
                f"without core nodes drivers and executors of {len(applications)} applications, and their masters of "
                f"{container_mb(MASTER_MB)} MB each, share the primary node: {drivers + asked:,} MB, and a "
                f"{settings.primary_instance_type} has {largest:,}: set less memory, a larger primary_instance_type, "
                "or core_instances = 1",
            )
        return
    containers = [*masters, *sorted(executors)]
    if not _fit(containers, [largest] * min(nodes, len(containers))):
        yield (
            "processing.core_instances",
            f"the executors of {len(applications)} applications ask for {sum(executors):,} MB, and {nodes} "
            f"{settings.core_instance_type} have {largest:,} each, which applications' masters of "
            f"{container_mb(MASTER_MB)} share: one may find no room: set more nodes, less memory, or one_step = true",
        )
    primary = aws_offers.YARN_MEMORY_MB[settings.primary_instance_type]
    if drivers > primary:
        yield (
            "processing.primary_instance_type",
            f"the drivers of {len(applications)} applications ask for {drivers:,} MB, and a "
            f"{settings.primary_instance_type} has {primary:,}: set a larger one, or let tables share an application "
            "(one_step = true)",
        )


def pace(environment: Environment) -> Iterator[Problem]:
    """Refuse pauses between a table's rounds that its alarm would take for a job that hangs."""
    limit = environment.monitoring.commit_age_minutes * 60
    for number, pipeline in enumerate(environment.pipelines):
        captured = pipeline.captured
        pauses = [
            (captured.lake_table(each), pipeline.sizes(each).sync_interval_seconds or 0) for each in captured.tables
        ]
        pauses += [(captured.lake_table(each), each.every_seconds) for each in captured.derived]
        for name, seconds in pauses:
            if seconds >= limit:
                yield (
                    f"pipelines[{number}]",
                    f"{name} is looked at every {seconds:,} s, and its alarm rings after"
                    f" {limit:,} s: set a shorter pause, or more monitoring.commit_age_minutes",
                )


def _fit(containers: Sequence[int], free: list[int]) -> bool:
    """Tell whether containers fit if YARN places each on the node with the most free memory."""
    for size in containers:
        node = free.index(max(free))
        free[node] -= size
    return all(left >= 0 for left in free)


def _applications(environment: Environment) -> Iterator[tuple[str, Mapping[str, str], int]]:
    keys = ("driver_memory", "executor_memory")
    settings = environment.processing
    others = [pipeline for pipeline in environment.pipelines if not pipeline.has_own_application]
    # Derived tables share it in any case.
    if any(one.job.one_step or len(one.captured.lake_tables) > len(one.captured.tables) for one in others):
        yield "processing", {key: getattr(settings, key) for key in keys}, settings.executors
    for number, pipeline in enumerate(environment.pipelines):
        job = pipeline.job
        if pipeline.has_own_application:
            memory_of = {key: getattr(job, key) or getattr(settings, key) for key in keys}
            yield f"pipelines[{number}].job", memory_of, job.executors or settings.executors
        if job.one_step:
            continue
        for table in pipeline.captured.tables:
            name, sizes = pipeline.captured.lake_table(table), pipeline.sizes(table)
            where = f"pipelines[{number}].tables.{name}" if name in pipeline.tables else f"pipelines[{number}].job"
            memory_of = {key: getattr(sizes, key) or getattr(settings, key) for key in keys}
            yield where, memory_of, sizes.executors or settings.executors


def _heap(given: str) -> int:
    return int(given[:-1]) * (1024 if given.endswith("g") else 1)
