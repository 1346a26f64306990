"""dev and prod unchanged, except for their connectors' platform."""

from pathlib import Path

from settings.environment import Environment
from settings.load import load
from tests.stacks.connectors.groups import IMAGE
from tests.stacks.settings import change, copied

SECTION = ("[connectors.eks]", 'kubernetes_version = "1.33"', f'image = "{IMAGE}"', "maximum_workers = 4", "")


def on_eks(folder: Path, name: str, *more: str) -> Path:
    """Write the environments into a folder, one of them with its connectors on EKS; return the folder."""
    environments = copied(folder)
    path = environments / f"{name}.toml"
    text = path.read_text().replace("[lake]\n", "\n".join([*SECTION[:-1], *more, "", "[lake]\n"]), 1)
    path.write_text(text)
    change(environments, name, "connectors", 'platform = "eks"')
    # It costs more, and the review reports a budget that is too small.
    change(environments, name, "budget", "monthly_usd = 20_000")
    for role in ("source", "sink"):
        change(environments, name, f"pipelines.{role}", "workers = 2")
    return environments


def environment_on_eks(folder: Path, name: str, *more: str) -> Environment:
    return load(name, on_eks(folder, name, *more))
