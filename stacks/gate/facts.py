"""What rules know of the environment that templates are for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
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


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What rules need to know of the environment: its settings."""

    settings: Environment

    @property
    def account(self) -> str:
        return self.settings.account

    @property
    def region(self) -> str:
        return self.settings.region

    @cached_property
    def following(self) -> Mapping[str, Any]:
        """Values that follow from settings without being one, by the names that allowed.toml has for them."""
        replicas = replicas_on(len(self.settings.availability_zones))
        return {
            "certificates": tuple(
                text for each in self.settings.streamed for text in root_certificate(self.settings, each).values()
            ),
            "in_sync": in_sync_of(replicas),
            **{f"granted.{kind}": actions for kind, actions in GRANTED.items()},
            "log4j": LOG4J,
            "market": self.settings.processing.market.upper(),
            "release_checksums": tuple(release.sha256 or "" for release in load_versions().releases.values()),
            "release_urls": tuple(release.url for release in load_versions().releases.values()),
            "replicas": replicas,
            "scanned_bytes": self.settings.analytics.scan_limit_mb * MEBIBYTE,
            "vpn_users": ",".join(self.settings.vpn.users) or NOBODY,
            "worker_files": tuple(self._worker_files()),
        }

    def _worker_files(self) -> Iterator[str]:
        """Yield the files of the connectors' workers on Kubernetes: only a source reads secrets."""
        for pipeline in self.settings.streamed:
            for role, region in (("source", self.region), ("sink", None)):
                name = f"{self.settings.prefix}-{pipeline.name}-{role}"
                made = worker_properties(name, plugin_path=PLUGINS, login=IAM_LOGIN, secrets_region=region)
                yield properties_file(made)
