"""The tags that a construct has at synth: those of the app come late, by aspects."""

import jsii
from aws_cdk import IResolvable, IStableAnyProducer, Lazy, TagManager
from constructs import IConstruct


def tags_of(tagged: IConstruct | None) -> IResolvable:
    """Whatever tags a construct has when its template is written."""
    return Lazy.any(_Tags(tagged))


@jsii.implements(IStableAnyProducer)
class _Tags:
    def __init__(self, tagged: IConstruct | None) -> None:
        self._tagged = tagged

    def produce(self) -> dict[str, str]:
        manager = TagManager.of(self._tagged)
        return dict(manager.tag_values()) if manager else {}
