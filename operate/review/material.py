"""The source of every section of the page, and its names for resources: names that mean something to people."""

import re
from dataclasses import dataclass
from functools import cached_property

from operate.synth import Synthesis
from settings.environment import Environment
from stacks.gate.template import App, Subject

# The hash at the end of CDK's logical ids; the ends of an L2 construct's path, which say nothing.
_HASH = re.compile(r"[0-9A-F]{8}(?:[0-9a-f]{16,32})?$")
_SILENT = frozenset({"Resource", "Default"})
# References as stacks/gate writes them, and names of exports; then a bare logical id in a finding's message.
_REFERENCE = re.compile(r"<([A-Za-z0-9]+)(?:\.[\w.]+)?>")
_EXPORT = re.compile(r"[a-z0-9-]+:ExportsOutput\w+")
_ID = re.compile(r"\b[A-Z][A-Za-z0-9]{8,}\b")
_ARN = re.compile(r"arn:(?:aws|<AWS::Partition>):([a-z0-9-]+):([^:\s]*):([^:\s]*):")


@dataclass(frozen=True, eq=False)
class Material:
    """An environment's settings, and what their synthesis gave."""

    environment: Environment
    synthesis: Synthesis

    @cached_property
    def app(self) -> App:
        return self.synthesis.app(self.environment)

    def stack_name(self, stack: str) -> str:
        """Name a stack without the environment's prefix."""
        return stack.removeprefix(f"{self.environment.prefix}-")

    def name(self, subject: Subject) -> str:
        """Name a resource by its place in the app, `connectors/Sink/Role`; without one by its id, without the hash."""
        return self.name_at(subject.stack, subject.id)

    def name_at(self, stack: str, logical_id: str) -> str:
        path = self.synthesis.paths.get((stack, logical_id))
        if path is None:
            return f"{self.stack_name(stack)}/{_HASH.sub('', logical_id)}"
        return self.path_name(path)

    def path_name(self, path: str) -> str:
        stack, *parts = path.split("/")
        while parts and parts[-1] in _SILENT:
            parts.pop()
        return "/".join([self.stack_name(stack), *(_HASH.sub("", part) for part in parts)])

    def title(self, subject: Subject) -> str:
        """Name a resource by its author's description, or its name on AWS; else by its place."""
        path = self.synthesis.paths.get((subject.stack, subject.id), "")
        for key in ("GroupDescription", "Description", "BucketName", "ClusterName", "DBClusterIdentifier"):
            text = subject.get(key)
            if isinstance(text, str) and not path.startswith(text):
                return text
        return self.name(subject)

    def readable(self, stack: str, text: str) -> str:
        """Write a text of stacks/gate for people: references by name, ARNs without account and region."""
        text = _EXPORT.sub(lambda found: self._exported(found[0]), text)
        text = _REFERENCE.sub(lambda found: self._referred(stack, found[1]) or found[0], text)
        text = _ID.sub(lambda found: self._referred(stack, found[0]) or found[0], text)
        text = text.replace("arn:aws:s3:::", "s3://")
        return _ARN.sub(self._service, text)

    def _service(self, arn: re.Match[str]) -> str:
        """The prefix of an ARN: the service, and region and account only where they aren't the environment's."""
        service, region, account = arn.groups()
        own = (self.environment.region, self.environment.account)
        other = [text for text, ours in zip((region, account), own, strict=True) if text not in ("", ours)]
        return f"{service} of {', '.join(other)} " if other else f"{service} "

    def _referred(self, stack: str, logical_id: str) -> str | None:
        known = logical_id in self.app.templates.get(stack, {"Resources": {}})["Resources"]
        return self.name_at(stack, logical_id) if known else None

    def _exported(self, name: str) -> str:
        place = self.app.target(next(iter(self.app.templates)), {"Fn::ImportValue": name})
        return self.name_at(*place) if place else name


def unknown_shown(text: str) -> str:
    """Replace the references in an opened request."""
    return re.sub(r"<[^<>]*>", "(known at deployment)", text)
