"""The tags that a construct has at synth: those of the app come late, by aspects."""

import jsii
from aws_cdk import IResolvable, IStableAnyProducer, Lazy, TagManager
from constructs import IConstruct


def tags_of(tagged: IConstruct | None) -> IResolvable:
    """Whatever tags a construct has when its template is written."""
    return Lazy.any(_Tags(tagged))


def tag_list_of(tagged: IConstruct | None) -> IResolvable:
    """The same as CloudFormation's resources have them, for those that CDK doesn't tag itself."""
    return Lazy.any(_TagList(tagged))


@jsii.implements(IStableAnyProducer)
class _Tags:
    def __init__(self, tagged: IConstruct | None) -> None:
        self._tagged = tagged

    def produce(self) -> dict[str, str]:
        manager = TagManager.of(self._tagged)
        return dict(manager.tag_values()) if manager else {}


@jsii.implements(IStableAnyProducer)
class _TagList:
    def __init__(self, tagged: IConstruct | None) -> None:
        self._tags = _Tags(tagged)

    def produce(self) -> list[dict[str, str]]:
        return [{"Key": key, "Value": value} for key, value in sorted(self._tags.produce().items())]
