"""Rules for the connectors' cluster: who reaches its API, who may do what in it, and which roles pods assume."""

import re
from collections.abc import Iterator

from settings.addresses import too_many
from stacks.gate.template import Subject, as_list, plain_text, written

NAMESPACE = "kafka-connect"
ADDONS = frozenset({"amazon-cloudwatch-observability", "metrics-server"})
# Needed to tell later who has done what.
LOGGED = frozenset({"api", "audit", "authenticator"})
EVERYTHING = "AmazonEKSClusterAdminPolicy"
# The administrator's handler: only it creates the namespace and its access rules.
ADMINISTRATOR = "stacks.handlers.kubernetes_objects."
_OWN_GROUP = re.compile(r"cdc-lake-[a-z]+")
_SESSION_TAG = "aws:RequestTag/kubernetes-"
_WHOSE = ("namespace", "service-account")


def kubernetes_closed(subject: Subject) -> Iterator[str]:
    """The API must authenticate by IAM, accept only the VPC or named addresses, and keep logs."""
    if subject.type != "AWS::EKS::Cluster":
        return
    access = subject.get("AccessConfig") or {}
    if access.get("AuthenticationMode") != "API":
        yield "lets in whom a ConfigMap names, too: AccessConfig.AuthenticationMode must be API"
    if access.get("BootstrapClusterCreatorAdminPermissions") is not False:
        yield "makes whoever creates it its administrator: BootstrapClusterCreatorAdminPermissions must be false"
    network = subject.get("ResourcesVpcConfig") or {}
    if network.get("EndpointPrivateAccess") is not True:
        yield "is reached through the internet by its own nodes: EndpointPrivateAccess must be true"
    if network.get("EndpointPublicAccess") is not False:
        ranges = as_list(network.get("PublicAccessCidrs") or ["0.0.0.0/0"])
        if reason := too_many(map(str, ranges)):
            yield f"its API is open to the world: {reason}"
    encrypted = [name for each in subject.get("EncryptionConfig") or [] for name in each.get("Resources", [])]
    if encrypted != ["secrets"]:
        yield "keeps its secrets in plain text: EncryptionConfig"
    types = {each["Type"] for each in subject.get("Logging.ClusterLogging.EnabledTypes") or []}
    if missing := sorted(LOGGED - types):
        yield f"doesn't log {', '.join(missing)}"


def members(subject: Subject) -> Iterator[str]:
    """Our functions must be in our groups; only one of them, and whom the environment names, has full access."""
    if subject.type != "AWS::EKS::AccessEntry":
        return
    for group in subject.get("KubernetesGroups") or []:
        if not _OWN_GROUP.fullmatch(written(group)):
            yield f"is a member of {written(group)}, which isn't a group of ours"
    for policy in subject.get("AccessPolicies") or []:
        name = plain_text(policy.get("PolicyArn")).rpartition("/")[2]
        target = subject.target(subject.get("PrincipalArn"))
        if name != EVERYTHING:
            yield f"{name}: an access policy that we haven't judged"
        elif target is not None and not _is_administrators(subject, target):
            yield f"{target[1]} may do everything in the cluster: only {ADMINISTRATOR}* may"
        elif target is None and not isinstance(subject.get("PrincipalArn"), str):
            yield f"{written(subject.get('PrincipalArn'))} may do everything in the cluster: name who it is"


def pods_roles(subject: Subject) -> Iterator[str]:
    """Pods may assume only this app's roles, in the connectors' namespace; no one else may assume those roles."""
    if subject.type == "AWS::EKS::PodIdentityAssociation":
        if subject.target(subject.get("RoleArn")) is None:
            yield f"pods act as {written(subject.get('RoleArn'))}, which isn't a role of this app"
        if subject.get("Namespace") != NAMESPACE:
            yield f"gives a role to pods of {written(subject.get('Namespace'))}: {NAMESPACE} alone is expected"
    if subject.type == "AWS::IAM::Role":
        for statement in as_list(subject.get("AssumeRolePolicyDocument.Statement") or []):
            if "pods.eks.amazonaws.com" in written(statement.get("Principal")):
                equal = (statement.get("Condition") or {}).get("StringEquals", {})
                if missing := [name for name in _WHOSE if not equal.get(f"{_SESSION_TAG}{name}")]:
                    yield f"pods of any {' and '.join(missing)} may take this role: add conditions on the session tags"


def addons_known(subject: Subject) -> Iterator[str]:
    """Only known add-ons, which have their own rights, may run in the cluster."""
    if subject.type == "AWS::EKS::Addon" and subject.get("AddonName") not in ADDONS:
        yield f"{written(subject.get('AddonName'))} is an add-on that we haven't judged"


def _is_administrators(subject: Subject, role: tuple[str, str]) -> bool:
    """Whether only the functions that create the namespace use a role."""
    worn = [
        str(function.get("Handler"))
        for function in subject.app.resources("AWS::Lambda::Function")
        if function.target(function.get("Role")) == role
    ]
    return bool(worn) and all(handler.startswith(ADMINISTRATOR) for handler in worn)
