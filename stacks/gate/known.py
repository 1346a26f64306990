"""Resource types that the rules cover: any other type in a template is an error until someone has reviewed it."""

from collections.abc import Iterator, Mapping
from typing import Any

from stacks.gate.template import Subject, written

TYPES = frozenset(
    {
        "AWS::Athena::NamedQuery",
        "AWS::Athena::WorkGroup",
        "AWS::Budgets::Budget",
        "AWS::CloudWatch::Alarm",
        "AWS::CloudWatch::Dashboard",
        "AWS::EC2::EIP",
        "AWS::EC2::EIPAssociation",
        "AWS::EC2::FlowLog",
        "AWS::EC2::Instance",
        "AWS::EC2::InternetGateway",
        "AWS::EC2::KeyPair",
        "AWS::EC2::NatGateway",
        "AWS::EC2::Route",
        "AWS::EC2::RouteTable",
        "AWS::EC2::SecurityGroup",
        "AWS::EC2::SecurityGroupEgress",
        "AWS::EC2::SecurityGroupIngress",
        "AWS::EC2::Subnet",
        "AWS::EC2::SubnetRouteTableAssociation",
        "AWS::EC2::VPC",
        "AWS::EC2::VPCEndpoint",
        "AWS::EC2::VPCGatewayAttachment",
        "AWS::EKS::AccessEntry",
        "AWS::EKS::Addon",
        "AWS::EKS::Cluster",
        "AWS::EKS::PodIdentityAssociation",
        "AWS::EMR::Cluster",
        "AWS::EMR::SecurityConfiguration",
        "AWS::Events::Rule",
        "AWS::Glue::Database",
        "AWS::Glue::Table",
        "AWS::IAM::InstanceProfile",
        "AWS::IAM::ManagedPolicy",
        "AWS::IAM::Policy",
        "AWS::IAM::Role",
        "AWS::KMS::Key",
        "AWS::KafkaConnect::WorkerConfiguration",
        "AWS::LakeFormation::PrincipalPermissions",
        "AWS::Lambda::Function",
        "AWS::Lambda::LayerVersion",
        "AWS::Lambda::Permission",
        "AWS::Logs::LogGroup",
        "AWS::Logs::ResourcePolicy",
        "AWS::MSK::Cluster",
        "AWS::MSK::Configuration",
        "AWS::QuickSight::Analysis",
        "AWS::QuickSight::Dashboard",
        "AWS::QuickSight::DataSet",
        "AWS::QuickSight::DataSource",
        "AWS::QuickSight::RefreshSchedule",
        "AWS::RDS::DBCluster",
        "AWS::RDS::DBClusterParameterGroup",
        "AWS::RDS::DBInstance",
        "AWS::RDS::DBSubnetGroup",
        "AWS::S3::Bucket",
        "AWS::S3::BucketPolicy",
        "AWS::SNS::Subscription",
        "AWS::SNS::Topic",
        "AWS::SNS::TopicPolicy",
        "AWS::SSM::Parameter",
        "AWS::SecretsManager::ResourcePolicy",
        "AWS::SecretsManager::RotationSchedule",
        "AWS::SecretsManager::Secret",
        "AWS::SecretsManager::SecretTargetAttachment",
        "AWS::Serverless::Application",
        "AWS::StepFunctions::StateMachine",
    }
)
# Macros that CloudFormation may apply: only AWS's own for nested applications.
TRANSFORMS = frozenset({"AWS::Serverless-2016-10-31"})


def known_types(subject: Subject) -> Iterator[str]:
    """Unknown types may open anything; an unknown custom resource may do whatever its handler's rights allow."""
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
