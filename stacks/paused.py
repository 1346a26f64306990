"""How much of an environment is omitted while it is paused: chosen at synthesis, like the environment itself.

An ordinary deployment of such templates deletes the omitted parts; a deployment of complete ones recreates them, so
CloudFormation always knows what exists (docs/decisions/0067).
"""

from enum import StrEnum

# The output of a stack with omitted parts; a complete one doesn't have it.
OUTPUT = "Paused"


class Paused(StrEnum):
    """What is omitted, in the order of a pause: nothing, what reads the sources, everything that isn't needed."""

    NOTHING = "nothing"
    SOURCES = "sources"
    ALL = "all"

    @property
    def leaves_out_sources(self) -> bool:
        """Whether no source connector runs, so that the events under way are used up."""
        return self is not Paused.NOTHING

    @property
    def leaves_out_all(self) -> bool:
        """Whether neither connectors nor EMR's cluster exist."""
        return self is Paused.ALL
