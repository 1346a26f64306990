"""One environment's settings: `environments/<name>.toml`, as types.

settings/load.py reads the file, settings/rules/ refuse errors that no single value shows, such as conflicting settings.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from contract.lake import DATABASE
from settings import aws_offers
from settings.environment_pipeline import EnvironmentPipeline
from settings.section import NOT_EMPTY, Names, Section, one_of
from settings.services import (
    Analytics,
    Budget,
    Connectors,
    Database,
    Eks,
    Lake,
    Monitoring,
    Network,
    Processing,
    Streaming,
    Vpn,
)


class Environment(Section):
    """One environment, as in its file; `name` is the file's."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]{0,11}$")]
    account: Annotated[str, Field(pattern=r"^[0-9]{12}$")]
    region: Annotated[str, one_of(aws_offers.ZONES, "one that we have tried")]
    availability_zones: Names
    production: bool
    removal_policy: Literal["destroy", "retain"]
    network: Network
    vpn: Vpn
    database: Database
    streaming: Streaming
    connectors: Connectors
    lake: Lake
    processing: Processing
    pipelines: Annotated[tuple[EnvironmentPipeline, ...], Field(strict=False), NOT_EMPTY]
    monitoring: Monitoring
    budget: Budget
    analytics: Analytics = Analytics()

    @model_validator(mode="before")
    @classmethod
    def _names_of_its_own(cls, values: Any) -> Any:
        """Prefix names that must be unique in an account and region with the environment's name."""
        lake = values.get("lake") if isinstance(values, dict) else None
        if isinstance(lake, dict) and "database" not in lake:
            return values | {"lake": {"database": f"{values.get('name')}_{DATABASE}"} | lake}
        return values

    @property
    def outbox(self) -> EnvironmentPipeline | None:
        return next((pipeline for pipeline in self.pipelines if pipeline.captured.outbox), None)

    @property
    def streamed(self) -> tuple[EnvironmentPipeline, ...]:
        """The pipelines captured by connectors: from the log or the outbox."""
        return tuple(pipeline for pipeline in self.pipelines if not pipeline.is_queried)

    @property
    def queried(self) -> tuple[EnvironmentPipeline, ...]:
        return tuple(pipeline for pipeline in self.pipelines if pipeline.is_queried)

    @property
    def job_connects(self) -> tuple[EnvironmentPipeline, ...]:
        """The pipelines to whose databases their jobs connect."""
        return tuple(pipeline for pipeline in self.pipelines if pipeline.job_connects)

    @property
    def connector_workers(self) -> int:
        return sum(pipeline.source.workers + pipeline.sink.workers for pipeline in self.streamed)

    @property
    def eks(self) -> Eks | None:
        return self.connectors.eks if self.connectors.platform == "eks" else None

    @property
    def prefix(self) -> str:
        """Prefix of every name in this environment."""
        return f"{self.name}-cdc-lake"

    @property
    def tags(self) -> dict[str, str]:
        """The tags of all its resources, by which its costs are found."""
        return {"environment": self.name, "system": "cdc-lake"}

    @property
    def vpn_users_parameter(self) -> str:
        return f"/{self.prefix}/vpn/users"

    def vpn_secret(self, user: str) -> str:
        return f"{self.prefix}/vpn/{user}"

    @property
    def database_cluster(self) -> str:
        """The identifier of the source's cluster. A restored one gets its own name: the old one still exists."""
        restore = self.database.restore
        return self.prefix if restore is None else f"{self.prefix}-{restore.name}"

    def source_parameter(self, pipeline: EnvironmentPipeline, name: str) -> str:
        """Name the SSM parameter that holds the source's `host`, or the `generation` of the pipeline's offsets."""
        between = "" if pipeline.is_first or name == "host" else f"{pipeline.name}/"
        return f"/{self.prefix}/source/{between}{name}"

    def bucket_name(self, role: str) -> str:
        """Return the name of the bucket for a role; account and region make it unique in all of S3."""
        return f"{self.prefix}-{role}-{self.account}-{self.region}"
