"""Resource types that the rules cover: any other type in a template is an error until someone has reviewed it."""

from collections.abc import Iterator, Mapping
from typing import Any

from stacks.gate.template import Subject, written

# AWS's services and their types.
_REVIEWED = {
    "Athena": ("NamedQuery", "WorkGroup"),
    "Budgets": ("Budget",),
    "CloudWatch": ("Alarm", "Dashboard"),
    "EC2": (
        "EIP",
        "EIPAssociation",
        "FlowLog",
        "Instance",
        "InternetGateway",
        "KeyPair",
        "NatGateway",
        "Route",
        "RouteTable",
        "SecurityGroup",
        "SecurityGroupEgress",
        "SecurityGroupIngress",
        "Subnet",
        "SubnetRouteTableAssociation",
        "VPC",
        "VPCEndpoint",
        "VPCGatewayAttachment",
    ),
    "EKS": ("AccessEntry", "Addon", "Cluster", "PodIdentityAssociation"),
    "EMR": ("Cluster", "SecurityConfiguration"),
    "Events": ("Rule",),
    "Glue": ("Database", "Table"),
    "IAM": ("InstanceProfile", "ManagedPolicy", "Policy", "Role"),
    "KMS": ("Key",),
    "KafkaConnect": ("WorkerConfiguration",),
    "LakeFormation": ("PrincipalPermissions",),
    "Lambda": ("Function", "LayerVersion", "Permission"),
    "Logs": ("LogGroup", "ResourcePolicy"),
    "MSK": ("Cluster", "Configuration"),
    "QuickSight": ("Analysis", "Dashboard", "DataSet", "DataSource", "RefreshSchedule"),
    "RDS": ("DBCluster", "DBClusterParameterGroup", "DBInstance", "DBSubnetGroup"),
    "S3": ("Bucket", "BucketPolicy"),
    "SNS": ("Subscription", "Topic", "TopicPolicy"),
    "SSM": ("Parameter",),
    "SecretsManager": ("ResourcePolicy", "RotationSchedule", "Secret", "SecretTargetAttachment"),
    "Serverless": ("Application",),
    "StepFunctions": ("StateMachine",),
}
TYPES = frozenset(f"AWS::{service}::{kind}" for service, kinds in _REVIEWED.items() for kind in kinds)
# Macros that CloudFormation may apply: only AWS's own for nested applications.
TRANSFORMS = frozenset({"AWS::Serverless-2016-10-31"})


def known_types(subject: Subject) -> Iterator[str]:
    """Unknown types may open anything; an unknown custom resource may do all that its handler's rights allow."""
    if subject.type.startswith("Custom::"):
        token = subject.get("ServiceToken")
        if subject.target(token) is None:
            yield f"is made by {written(token)}, which isn't a function of this app"
    elif subject.type not in TYPES:
        yield f"the review has no rules for {subject.type}: judge what it opens, and name it in stacks/gate/known.py"
    if "Condition" in subject.resource or "Fn::If" in str(subject.properties):
        yield "depends on a condition: what is deployed would be other than what was reviewed"


def template_sections(template: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Reject what changes a template after its review: macros, and values passed in."""
    transforms = template.get("Transform", [])
    for transform in transforms if isinstance(transforms, list) else [transforms]:
        if transform not in TRANSFORMS:
            yield "Transform", f"{written(transform)} rewrites the template after its review"
    for name, parameter in template.get("Parameters", {}).items():
        if not str(parameter.get("Type")).startswith("AWS::SSM::Parameter::Value<") and name != "BootstrapVersion":
            yield name, "a parameter's value isn't there to be reviewed: write it into the template"
    for name, output in template.get("Outputs", {}).items():
        if "{{resolve:" in str(output.get("Value")):
            yield name, "an output shows a secret's value"
