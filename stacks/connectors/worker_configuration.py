"""How the connectors' workers are configured: by CloudFormation's own type (docs/decisions/0050)."""

import base64
import hashlib

from aws_cdk import Fn
from aws_cdk import aws_kafkaconnect as kafkaconnect
from constructs import Construct

from plugins.connector_names import GENERATION
from stacks.connectors.worker_file import properties_file

JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"


def converters() -> dict[str, str]:
    """What MSK Connect demands of every worker configuration; the connectors say theirs themselves."""
    return {"key.converter": JSON_CONVERTER, "value.converter": JSON_CONVERTER}


def worker_configuration(
    scope: Construct, id_: str, *, name: str, properties: dict[str, str], generation: str
) -> kafkaconnect.CfnWorkerConfiguration:
    """Make a worker configuration. Any change is a new one: its name holds its content and its construct.

    So the old one, which the connector still uses, is deleted when the connector has taken the new one; and a construct
    that is renamed doesn't meet its own old name. `generation` is the source's, known when it is deployed: it goes into
    the place of GENERATION, and CloudFormation encodes the file. Raises ValueError as `properties_file` does.
    """
    file = properties_file(properties)
    digest = hashlib.sha256(f"{scope.node.path}/{id_}\0{file}".encode()).hexdigest()[:16]
    full_name, content = f"{name}-{digest}", base64.b64encode(file.encode()).decode()
    if GENERATION in file:
        full_name, content = f"{full_name}-{generation}", Fn.base64(file.replace(GENERATION, generation))
    return kafkaconnect.CfnWorkerConfiguration(scope, id_, name=full_name, properties_file_content=content)
