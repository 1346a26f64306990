"""What commands can do with connectors depends on where these run."""

from operate.errors import OperateError
from settings.environment import Environment


def need_msk_connect(environment: Environment, command: str) -> None:
    """Raise OperateError where connectors run elsewhere, which the command doesn't know."""
    if environment.eks is not None:
        raise OperateError(
            f"`make {command}` knows connectors on MSK Connect, and {environment.name}'s run on EKS: "
            "docs/kafka-connect-on-eks.md says what to do there"
        )
