"""Groups of workers as an environment might have them, for tests that render their objects."""

from plugins.workers.connect_workers import BROKERS, IAM_LOGIN, OFFSETS, worker_properties
from stacks.connectors.manifests import PLUGINS, Destination, WorkerGroup

IMAGE = f"111111111111.dkr.ecr.ap-southeast-2.amazonaws.com/cdc-lake-connect@sha256:{'0123456789abcdef' * 4}"


def group(name: str = "dev-cdc-lake-orders-sink", *, most: int = 0) -> WorkerGroup:
    return WorkerGroup(
        connector=name,
        image=IMAGE,
        workers=2,
        units=1,
        properties=worker_properties(name, plugin_path=PLUGINS, login=IAM_LOGIN, secrets_region="ap-southeast-2"),
        variables={BROKERS: "b-1.example:9098", OFFSETS: f"__cdc_lake_offsets_{name}-1"},
        files={"rds-ca.pem": "-----BEGIN CERTIFICATE-----\n"},
        destinations=(Destination(cidr="10.100.0.0/16", port=9098), Destination(cidr="0.0.0.0/0", port=443)),
        api="10.100.0.0/16",
        most=most,
    )
