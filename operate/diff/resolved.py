"""Values that no template shows: CloudFormation looks them up at deployment, machine images above all."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from operate.changes.compare import short_type
from operate.diff.names import resource
from operate.diff.normal_form import Template, Templates
from operate.diff.resources import known_effect

IMAGE = "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>"


@dataclass(frozen=True, kw_only=True)
class LookedUp:
    """A resource whose machine image the public parameter `source` names at deployment."""

    stack: str
    logical_id: str
    type_: str
    source: str

    @property
    def words(self) -> str:
        """Say where the image is from, and the effect of a newer one."""
        replaced = known_effect(self.type_, ("ImageId",), "", "")[0] == "replaced"
        does = "a newer one replaces it" if replaced else "a newer one changes it"
        return f"its image is what {self.source} names on the day of the deployment: {does}"


def looked_up(templates: Templates) -> Iterator[LookedUp]:
    """Find the resources whose machine image is looked up at deployment."""
    for stack, template in sorted(templates.items()):
        yield from _images(stack, template)


def resolved(templates: Templates) -> list[str]:
    """List those resources, and warn that no comparison of templates shows a new image."""
    return [
        f"{found.stack}/{resource(found.logical_id)} ({short_type(found.type_)}): {found.words}, "
        "and no comparison of templates shows that"
        for found in looked_up(templates)
    ]


def _images(stack: str, template: Template) -> Iterator[LookedUp]:
    for name, parameter in sorted(template.get("Parameters", {}).items()):
        if parameter.get("Type") != IMAGE:
            continue
        for logical_id, each in sorted(template["Resources"].items()):
            if f'{{"Ref": "{name}"}}' in json.dumps(each.get("Properties", {})):
                yield LookedUp(stack=stack, logical_id=logical_id, type_=each["Type"], source=parameter["Default"])
