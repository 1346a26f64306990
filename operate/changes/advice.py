"""What a person does about a change that CloudFormation refuses, and what follows from one that it doesn't."""

from collections.abc import Mapping

ANOTHER = "Make another environment with it, and move over: [deploy.md](deploy.md#7-update)."
# By setting: needed for what is refused by CloudFormation or loses data; a note where the effect alone doesn't say it.
ADVICE: Mapping[str, str] = {
    "availability_zones": ANOTHER,
    "removal_policy": "What buckets hold stays: CDK's emptying of them looks for a tag that is gone by then.",
    "network.cidr": ANOTHER,
    "network.nat": "Outgoing connections break for minutes; retries bridge that.",
    "network.interface_endpoints": "Connections to these services break and go by NAT, or the other way round.",
    "database.engine_version": "Going back to an older version: restore a snapshot that was taken before.",
    "database.name": "Another name is another database: dump and load, or another environment.",
    "database.instances": "A reader that goes is deleted; it holds no data of its own.",
    "database.sample_data": "Counts only when the database is made: data that is there stays.",
    "database.sample_scale": "Counts only when the database is made: data that is there stays.",
    "database.restore": "[The runbook](restore-database.md). Taking it out again is refused by `make deploy`.",
    "streaming.kafka_version": "Never back to an older version, and to KRaft only by AWS's own migration, by hand.",
    "streaming.brokers": (
        "More: new brokers get no partitions until topics are reassigned. Fewer: empty the brokers first (Kafka's "
        "reassignment), and go in steps of one broker per zone."
    ),
    "streaming.volume_gb": "Never less, and once in six hours at most.",
    "connectors.platform": "The connectors' stack is deleted first: [how](kafka-connect-on-eks.md#change-over).",
    "pipelines[0].topic_prefix": "Other topics: Debezium begins with a new snapshot, and the old topics stay.",
    "pipelines[0].role": "The secret gets a new password, which the preparation gives to the role.",
    "pipelines[0].job.one_step": "What keeps a table has ended before something else begins to.",
    "pipelines[0].sink.kcql": "Another prefix is another landing: the job reads only what is below its own.",
    "processing.release": "The table isn't touched: the new cluster's job goes on from its last commit.",
    "processing.primary_instance_type": "The table isn't touched: the new cluster's job goes on from its last commit.",
    "processing.core_instance_type": "The table isn't touched: the new cluster's job goes on from its last commit.",
    "processing.core_instances": "Without core nodes, or with the first ones, it is another cluster.",
    "processing.market": "The table isn't touched: the new cluster's job goes on from its last commit.",
    "processing.applications": "The table isn't touched: the new cluster's job goes on from its last commit.",
    "analytics.quicksight_principal": "[What has to be there first](analytics.md#quicksight).",
    "analytics.import_mode": "That is with a `quicksight_principal`; without one nothing.",
    "analytics.refresh": "That is with a `quicksight_principal` and SPICE; without them nothing.",
    "analytics.lake_formation": (
        "Whoever deploys has to be a data lake administrator before: [analytics.md](analytics.md#lake-formation)."
    ),
    "budget.monthly_usd": "`make review` refuses less than the environment costs.",
    "monitoring.alarm_email": "The new address gets a mail and must confirm it.",
}
