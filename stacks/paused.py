"""How much of an environment is left out while it is paused: a choice at synthesis, as which environment it is.

What is left out is deleted by the ordinary deployment of such templates and made anew by that of whole ones, so
CloudFormation always knows what there is (docs/decisions/0067).
"""

from enum import StrEnum

# The output of a stack that has something left out; a whole one has none.
OUTPUT = "Paused"


class Paused(StrEnum):
    """What is left out, in the order of a pause: nothing, what reads the sources, all that isn't needed."""

    NOTHING = "nothing"
    SOURCES = "sources"
    ALL = "all"

    @property
    def leaves_out_sources(self) -> bool:
        """Whether no source connector runs, so that what is under way comes to an end."""
        return self is not Paused.NOTHING

    @property
    def leaves_out_all(self) -> bool:
        """Whether neither connectors nor EMR's cluster are there."""
        return self is Paused.ALL
