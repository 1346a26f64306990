"""Advice for changes that CloudFormation refuses, and consequences that the effect doesn't show."""

from collections.abc import Mapping

_ANOTHER = "This is a migration: create another environment with it."
_CONNECTIONS = "Outbound connections break for minutes; retries bridge that."
_DATA = "Applies only when the database is created; existing data stays."
_CLUSTER = "Tables stay; the job resumes on the new cluster from its last commit."
# By setting. Required where CloudFormation refuses the change or data is lost.
ADVICE: Mapping[str, str] = {
    "availability_zones": _ANOTHER,
    "removal_policy": "Bucket contents stay: CDK empties only buckets with a tag that is gone by then.",
    "network.cidr": _ANOTHER,
    "network.nat": _CONNECTIONS,
    "network.interface_endpoints": "Connections to these services break and switch between NAT and endpoint.",
    "database.engine_version": "To go back, restore a snapshot from before the upgrade.",
    "database.name": "Another name is another database: dump and load, or create another environment.",
    "database.instances": "A removed reader holds no data of its own.",
    "database.sample_data": _DATA,
    "database.sample_scale": _DATA,
    "database.restore": "Follow [restore](../aws/restore.md). `./lake aws deploy` refuses to remove it again.",
    "streaming.kafka_version": "MSK never downgrades; to move to KRaft, use AWS's own migration.",
    "streaming.brokers": (
        "More: new brokers get partitions only when you reassign topics. Fewer: reassign their partitions first, then "
        "remove one broker per zone at a time."
    ),
    "streaming.volume_gb": "Volumes only grow, at most once in six hours.",
    "connectors.platform": "[Delete the connectors' stack first](../aws/eks.md#switch-platforms).",
    "pipelines[0].topic_prefix": "Debezium takes a new snapshot into new topics; the old topics stay.",
    "pipelines[0].role": "The secret gets a new password, and the preparation sets it for the role.",
    "pipelines[0].job.one_step": "The old job ends before the new one starts.",
    "pipelines[0].sink.kcql": "The job reads only its own prefix: another prefix is another landing.",
    "processing.release": _CLUSTER,
    "processing.primary_instance_type": _CLUSTER,
    "processing.core_instance_type": _CLUSTER,
    "processing.core_instances": "To or from 0 core nodes is a new cluster.",
    "processing.market": _CLUSTER,
    "processing.applications": _CLUSTER,
    "analytics.quicksight_principal": "[Set up QuickSight first](../aws/analysts.md#quicksight).",
    "analytics.import_mode": "Without `quicksight_principal`: nothing.",
    "analytics.refresh": "Without `quicksight_principal` and SPICE: nothing.",
    "analytics.lake_formation": (
        "The deploying role must be a [data lake administrator](../aws/analysts.md#lake-formation) first."
    ),
    "budget.monthly_usd": "`./lake aws review` refuses less than the environment costs.",
    "monitoring.alarm_email": "The new address must confirm the subscription.",
}
