"""What rules know of the environment that templates are for."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from analytics.dashboard import GRANTED
from plugins.kafka.topics import in_sync_of, replicas_on
from plugins.releases.versions import load_versions
from settings.environment import Environment

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
            "in_sync": in_sync_of(replicas),
            **{f"granted.{kind}": actions for kind, actions in GRANTED.items()},
            "market": self.settings.processing.market.upper(),
            "release_urls": tuple(release.url for release in load_versions().releases.values()),
            "replicas": replicas,
            "scanned_bytes": self.settings.analytics.scan_limit_mb * MEBIBYTE,
        }
