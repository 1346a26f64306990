"""The metrics behind alarms and dashboard, under the names that each service publishes.

Sources: Aurora user guide, "Amazon CloudWatch metrics for Amazon Aurora"; MSK developer guide, "Metrics for monitoring"
and "Monitoring MSK Connect"; S3 user guide, "Request metrics"; the job's own ones: docs/reference/streaming-job.md.
Needs CDK only where it makes one: the gate writes down the same metrics without it (stacks/gate/expected.py).
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from contract.metrics import DIMENSION, table_value
from plugins.connector_names import sink_group
from plugins.workers import connect_workers
from settings.environment import Environment
from stacks.monitoring.watches import PERIOD_MINUTES

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch

MSK_CONNECT = "AWS/KafkaConnect"
# In seconds, or any other unit: above every threshold.
WORST = 1_000_000_000


class Metrics:
    """Creates one environment's metrics from the names of its parts."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def commits(self) -> "cloudwatch.Metric":
        return self._writer("CommitThroughput", "Average")

    def slot_lag(self) -> "cloudwatch.IMetric":
        """Bytes of log that the slot's reader hasn't confirmed yet.

        Aurora reports it as the log retained for the slot; OldestReplicationSlotLag, RDS's own metric, counts if an
        engine version publishes it.
        """
        return self._expression(
            "Replication slot lag",
            "MAX([wal, lag])",
            wal=self._writer("TransactionLogsDiskUsage"),
            lag=self._writer("OldestReplicationSlotLag"),
        )

    def wal_disk(self) -> "cloudwatch.IMetric":
        """Bytes on disk for logical replication: the retained log, and what decoding has spilled."""
        return self._expression(
            "Log and slot files",
            "wal + slots",
            wal=self._writer("TransactionLogsDiskUsage"),
            slots=self._writer("ReplicationSlotDiskUsage"),
        )

    def connector(self, name: str, metric: str, statistic: str) -> "cloudwatch.Metric":
        prefix = self._environment.prefix
        namespace = connect_workers.namespace(prefix) if self._environment.eks else MSK_CONNECT
        return self._metric(namespace, metric, statistic, **{connect_workers.DIMENSION: name})

    def events_waiting(self, sink_connector: str, topic: str) -> "cloudwatch.Metric":
        """Events in a topic that its sink hasn't landed: the minimum per period."""
        dimensions = {"Cluster Name": self._environment.prefix, "Consumer Group": sink_group(sink_connector)}
        return self._metric("AWS/Kafka", "SumOffsetLag", "Minimum", **dimensions, Topic=topic)

    def landed(self, filter_: str) -> "cloudwatch.Metric":
        bucket = self._environment.bucket_name("landing")
        return self._metric("AWS/S3", "PutRequests", "Sum", BucketName=bucket, FilterId=filter_)

    def nothing_landed(self, sink_connector: str, topics: Sequence[str], filter_: str) -> "cloudwatch.IMetric":
        """1 while no object lands, but events wait in one of these topics, or their number is unknown."""
        waiting = {f"waiting{n}": self.events_waiting(sink_connector, topic) for n, topic in enumerate(topics)}
        wait = " + ".join(f"FILL({name}, 1)" for name in waiting)
        return self._expression(
            "Events wait, nothing lands",
            f"IF({wait} > 0 AND FILL(landed, 0) == 0, 1, 0)",
            **waiting,
            landed=self.landed(filter_),
        )

    def broker_disk(self) -> "cloudwatch.IMetric":
        by_broker = {f"broker{number}": disk for number, disk in enumerate(self.broker_disks(), 1)}
        return self._expression("Fullest broker's disk", f"MAX([{', '.join(by_broker)}])", **by_broker)

    def broker_disks(self) -> "list[cloudwatch.IMetric]":
        cluster, brokers = self._environment.prefix, range(1, 1 + self._environment.streaming.brokers)
        dimensions = [{"Cluster Name": cluster, "Broker ID": str(broker)} for broker in brokers]
        return [self._metric("AWS/Kafka", "KafkaDataLogsDiskUsed", "Maximum", **each) for each in dimensions]

    def job(self, table: str, metric: str, statistic: str) -> "cloudwatch.Metric":
        value = table_value(self._environment.lake.database, table)
        return self._metric(self._environment.prefix, metric, statistic, **{DIMENSION: value})

    def worst_job(self, tables: Sequence[str], metric: str, statistic: str) -> "cloudwatch.IMetric":
        """The highest value of several tables' jobs; a job without data counts as the worst."""
        if len(tables) == 1:
            return self.job(tables[0], metric, statistic)
        jobs = {f"table{number}": self.job(table, metric, statistic) for number, table in enumerate(tables)}
        return self._expression(
            f"{metric}, the worst table's", f"MAX([{', '.join(f'FILL({name}, {WORST})' for name in jobs)}])", **jobs
        )

    def _writer(self, metric: str, statistic: str = "Maximum") -> "cloudwatch.Metric":
        # By role: after a failover another instance is the writer.
        cluster = self._environment.database_cluster
        return self._metric("AWS/RDS", metric, statistic, DBClusterIdentifier=cluster, Role="WRITER")

    def _metric(self, namespace: str, name: str, statistic: str, **dimensions: str) -> "cloudwatch.Metric":
        from aws_cdk import Duration, aws_cloudwatch

        period = Duration.minutes(PERIOD_MINUTES)
        return aws_cloudwatch.Metric(
            namespace=namespace, metric_name=name, statistic=statistic, period=period, dimensions_map=dimensions
        )

    def sum(self, label: str, metrics: "Sequence[cloudwatch.Metric]") -> "cloudwatch.IMetric":
        if len(metrics) == 1:
            return metrics[0].with_(label=label)
        # Ids must be unique in a graph, which may have several sums.
        id_ = re.sub(r"\W+", "_", f"of_{label}".lower())
        parts = {f"{id_}_{number}": metric for number, metric in enumerate(metrics)}
        return self._expression(label, f"SUM([{', '.join(parts)}])", **parts)

    def _expression(self, label: str, expression: str, **metrics: "cloudwatch.IMetric") -> "cloudwatch.MathExpression":
        from aws_cdk import Duration, aws_cloudwatch

        period = Duration.minutes(PERIOD_MINUTES)
        return aws_cloudwatch.MathExpression(expression=expression, using_metrics=metrics, label=label, period=period)
