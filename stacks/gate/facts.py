"""What follows from an environment's settings without being one, for the gate's rules."""

from collections.abc import Iterator, Mapping
from typing import Any

from analytics.dashboard import GRANTED
from plugins.kafka.topics import in_sync_of, replicas_on
from plugins.releases.versions import load_versions
from plugins.workers.connect_workers import IAM_LOGIN, properties_file, worker_properties
from settings.connectors import root_certificate
from settings.environment import Environment
from stacks.connectors.manifests import LOG4J, PLUGINS
from stacks.vpn_script import NOBODY

MEBIBYTE = 1024 * 1024


def following(settings: Environment) -> Mapping[str, Any]:
    """Return these values by the names that allowed.toml has for them."""
    replicas = replicas_on(len(settings.availability_zones))
    return {
        "certificates": tuple(text for each in settings.streamed for text in root_certificate(settings, each).values()),
        "in_sync": in_sync_of(replicas),
        **{f"granted.{kind}": actions for kind, actions in GRANTED.items()},
        "log4j": LOG4J,
        "market": settings.processing.market.upper(),
        "release_checksums": tuple(release.sha256 or "" for release in load_versions().releases.values()),
        "release_urls": tuple(release.url for release in load_versions().releases.values()),
        "replicas": replicas,
        "scanned_bytes": settings.analytics.scan_limit_mb * MEBIBYTE,
        "vpn_users": ",".join(settings.vpn.users) or NOBODY,
        "worker_files": tuple(_worker_files(settings)),
    }


def _worker_files(settings: Environment) -> Iterator[str]:
    """Yield the files of the connectors' workers on Kubernetes: only a source reads secrets."""
    for pipeline in settings.streamed:
        for role, region in (("source", settings.region), ("sink", None)):
            name = f"{settings.prefix}-{pipeline.name}-{role}"
            made = worker_properties(name, plugin_path=PLUGINS, login=IAM_LOGIN, secrets_region=region)
            yield properties_file(made)
