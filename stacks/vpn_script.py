"""The script that makes an instance the VPN bastion, filled in. Needs no CDK: the gate compares it whole."""

import re
from collections.abc import Mapping
from ipaddress import IPv4Network
from pathlib import Path

from plugins.releases.versions import load_versions
from settings.environment import Environment

USER_DATA = Path(__file__).with_name("userdata") / "softether.sh"
HUB = "lake"
# In the parameter with the users: it can't be empty.
NOBODY = "-"


def bastion_script(environment: Environment, *, pre_shared_key: str, resource: str) -> str:
    """Fill in the script; `pre_shared_key` is its secret's ARN, `resource` the instance's logical id."""
    release, network = load_versions().softether, IPv4Network(environment.network.cidr)
    values = {
        "RELEASE_URL": release.url,
        "RELEASE_SHA256": release.sha256 or "",
        "PRE_SHARED_KEY_SECRET": pre_shared_key,
        "USERS_PARAMETER": environment.vpn_users_parameter,
        "USER_SECRET_PREFIX": environment.vpn_secret(""),
        "HUB": HUB,
        "VPC_NETWORK": f"{network.network_address}/{network.netmask}",
        "STACK": f"{environment.prefix}-vpn",
        "RESOURCE": resource,
        "REGION": environment.region,
    }
    return fill(USER_DATA.read_text(encoding="utf-8"), values)


def fill(script: str, values: Mapping[str, str]) -> str:
    """Replace the script's `@NAME@` by values. Raises KeyError for a name without a value."""
    return re.sub(r"@([A-Z0-9_]+)@", lambda match: values[match.group(1)], script)
