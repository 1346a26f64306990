"""Names of a pipeline's resources in an environment's stacks."""

from settings.environment import Environment
from settings.environment_pipeline import EnvironmentPipeline


def construct_id(pipeline: EnvironmentPipeline, id_: str) -> str:
    """Return the id of a pipeline's construct, such as `NorthwindSinkConnector`; the first pipeline's has no prefix."""
    return id_ if pipeline.is_first else f"{pipeline.name.capitalize()}{id_}"


def source_parameter(environment: Environment, pipeline: EnvironmentPipeline, name: str) -> str:
    """Name the SSM parameter that holds the source's `host`, or the `generation` of the pipeline's offsets."""
    between = "" if pipeline.is_first or name == "host" else f"{pipeline.name}/"
    return f"/{environment.prefix}/source/{between}{name}"
