"""Rotates the VPN's secrets: a person's password, or the pre-shared key.

Secrets Manager calls it four times per rotation (user guide, "Lambda rotation functions"): createSecret, setSecret,
testSecret, finishSecret. The bastion picks up the current version within minutes, so setSecret has nothing to do. Each
step may be repeated.
"""

import logging
import secrets
import string
from collections.abc import Mapping
from typing import Any

from stacks.handlers import framework

# Letters and digits: SoftEther's command language treats others specially.
ALPHABET = string.ascii_letters + string.digits
LENGTH = 24
CURRENT, PENDING = "AWSCURRENT", "AWSPENDING"
_log = logging.getLogger(__name__)
_log.setLevel(logging.INFO)


def handler(event: Mapping[str, Any], _context: object) -> None:
    """Do one step of a rotation. Raises ValueError for an unknown step, and Secrets Manager's errors."""
    secret, version, step = event["SecretId"], event["ClientRequestToken"], event["Step"]
    if step in ("setSecret", "testSecret"):
        return
    if step not in ("createSecret", "finishSecret"):
        raise ValueError(f"{step} is no step of a rotation")
    client = framework.client("secretsmanager")
    stages = client.describe_secret(SecretId=secret)["VersionIdsToStages"]
    if CURRENT in stages.get(version, []):
        return
    pending = PENDING in stages.get(version, [])
    if step == "createSecret":
        if not (pending and _has_value(secret, version)):
            password = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
            client.put_secret_value(
                SecretId=secret, ClientRequestToken=version, SecretString=password, VersionStages=[PENDING]
            )
        return
    if not pending:
        raise ValueError(f"{secret}: version {version} isn't pending")
    current = next(name for name, staged in stages.items() if CURRENT in staged)
    client.update_secret_version_stage(
        SecretId=secret, VersionStage=CURRENT, MoveToVersionId=version, RemoveFromVersionId=current
    )
    _log.info("%s: rotated", secret)


def _has_value(secret: str, version: str) -> bool:
    """Tell whether a pending version has a value: Secrets Manager may stage it before."""
    client = framework.client("secretsmanager")
    try:
        client.get_secret_value(SecretId=secret, VersionId=version, VersionStage=PENDING)
    except client.exceptions.ResourceNotFoundException:
        return False
    return True
