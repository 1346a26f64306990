"""What no template says: values that CloudFormation looks up on the day of the deployment, machine images above all."""

import json
from collections.abc import Iterator

from operate.changes.compare import short_type
from operate.diff.names import resource
from operate.diff.normal_form import Template, Templates
from operate.diff.resources import known_effect

IMAGE = "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>"


def resolved(templates: Templates) -> list[str]:
    """Say which resources get a machine image that is looked up at the deployment, and what a newer one does."""
    return [line for stack, template in sorted(templates.items()) for line in _images(stack, template)]


def _images(stack: str, template: Template) -> Iterator[str]:
    for name, parameter in sorted(template.get("Parameters", {}).items()):
        if parameter.get("Type") != IMAGE:
            continue
        users = [
            (logical_id, each["Type"])
            for logical_id, each in sorted(template["Resources"].items())
            if f'{{"Ref": "{name}"}}' in json.dumps(each.get("Properties", {}))
        ]
        for logical_id, type_ in users:
            replaced = known_effect(type_, ("ImageId",), "", "")[0] == "replaced"
            does = "a newer one replaces it" if replaced else "a newer one changes it"
            yield (
                f"{stack}/{resource(logical_id)} ({short_type(type_)}): its image is what {parameter['Default']} names "
                f"on the day of the deployment: {does}, and no comparison of templates shows that"
            )
