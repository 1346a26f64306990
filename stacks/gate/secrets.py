"""Rules for secrets, which stay in Secrets Manager, and for the checksums of deployed code."""

import json
import re
from collections.abc import Iterator

from contract.secret_names import is_secret
from stacks.gate.template import LATER, Subject, decoded, request_of, strings, texts

SHA256 = re.compile(r"[0-9a-f]{64}")
REFERENCE = re.compile(r"\$\{secretsmanager:[^{}]+:[^:{}]+\}")
# CloudFormation's references that put a secret's value into a property as plain text; only one property may have one.
RESOLVED = re.compile(r"\{\{resolve:(secretsmanager|ssm-secure):")
MASTER_PASSWORD = ("AWS::RDS::DBCluster", "MasterUserPassword")


def no_secret_values(subject: Subject) -> Iterator[str]:
    """Properties must not hold secret values: CloudTrail logs them, and everyone with access to the stack sees them."""
    for name, value in subject.properties.items():
        if any(map(RESOLVED.search, (json.dumps(value), *texts(value)))) and (subject.type, name) != MASTER_PASSWORD:
            yield f"a secret is resolved into {name}: hand over the secret's name and read it where it is needed"
    if subject.type == "AWS::SecretsManager::Secret" and not subject.get("GenerateSecretString"):
        yield "nothing makes its value: let Secrets Manager generate it"
    # A value as it stands, not one of a command.
    script = decoded(subject.get("UserData")) if subject.type == "AWS::EC2::Instance" else None
    for name in re.findall(r"(\w+)=[\"']?[^\s\"'$`(){}\x00]+", script or ""):
        if may_be_a_secret(name, ""):
            yield f"the machine's script has {name}'s value: read it from a secret there"
    for path, text in strings(request_of(subject.resource) or {}):
        # People name their queries; `sources_prepared` compares what these say.
        if text != LATER and path[0] != "queries" and may_be_a_secret(path[-1], text):
            yield f"{'.'.join(path)} isn't a reference such as ${{secretsmanager:name:key}}"


def checksums_present(subject: Subject) -> Iterator[str]:
    """Each release must have a checksum to be verified against."""
    for release in (request_of(subject.resource) or {}).get("releases", []):
        if not SHA256.fullmatch(release.get("sha256", "")):
            yield f"{release.get('file')} has no SHA-256: `./lake dev lock plugins` adds it; nothing deploys without"


def may_be_a_secret(key: str, text: str) -> bool:
    """Tell whether a text under this key may be a secret's value, not a reference to a secret or its name."""
    is_name = re.search(r"(arn|id|name|prefix)$", key, re.IGNORECASE) or key.startswith("config.providers")
    return is_secret(key) and not is_name and not REFERENCE.fullmatch(text)
