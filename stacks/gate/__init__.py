"""Project rules on synthesized templates, for what cdk-nag and cfn-lint can't know about this system.

Each rule checks one resource of a template, in the form CloudFormation gets, and yields its problems. Nothing here
needs CDK: the same rules and acceptances judge a template that was changed after synthesis.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from types import MappingProxyType

from settings.environment import Environment
from stacks.gate import between, manifests, network, properties, rights, secrets, trust
from stacks.gate.expected import EXPECTED
from stacks.gate.grants import LAKE_FORMATION, ROLE, Grant
from stacks.gate.properties import template_sections
from stacks.gate.template import App, Finding, Level, Rule, Templates

__all__ = ["judged", "review"]

# A rule's name, the type of resource that it judges (empty: all), and itself.
RULES: tuple[tuple[str, str, Rule], ...] = (
    ("known-properties", "", properties.known_properties),
    ("known-properties", "", properties.known_objects),
    ("no-secret-values", "", secrets.no_secret_values),
    ("checksums-present", "", secrets.checksums_present),
    ("no-administrators", "", rights.no_administrators),
    ("rights-of-roles", "", rights.ordinary_on_ours),
    ("rights-of-roles", ROLE, trust.managed_by_service),
    ("trust", ROLE, trust.trusted_by_role),
    ("trust", "", trust.denied_as_expected),
    ("own-code", "AWS::Serverless::Application", trust.applications_of_amazon),
    ("own-code", "AWS::EC2::Instance", between.images_of_amazon),
    ("own-code", "AWS::Lambda::Function", between.worn_once),
    ("tags", "", between.tagged),
    ("no-open-ports", "", network.no_open_ports),
    ("no-open-ports", "", network.out_as_set),
    ("private-network", "AWS::EC2::Subnet", network.private_stays_private),
    ("data-closed", "", network.databases_for_groups),
    ("data-closed", "AWS::S3::Bucket", between.buckets_by_tls),
    ("data-survives", "AWS::RDS::DBCluster", between.database_kept),
    ("data-survives", "", between.data_survives),
    ("data-survives", "AWS::S3::Bucket", between.expires_as_set),
    ("logs-kept", "AWS::Logs::LogGroup", between.logs_kept),
    ("rights-of-readers", LAKE_FORMATION, trust.granted_to_readers),
    ("kubernetes-closed", "AWS::EKS::Cluster", manifests.kubernetes_closed),
    ("kubernetes-closed", "AWS::EKS::AccessEntry", manifests.members),
    ("kubernetes-closed", ROLE, manifests.pods_roles),
    ("manifests-sound", "", manifests.objects_together),
)
# A template may lack a checksum; `./lake aws deploy` and the handler refuse it.
WARNINGS = frozenset({"checksums-present"})


def review(
    templates: Templates,
    settings: Environment,
    accepted: Mapping[Grant, str] = MappingProxyType({}),
    protected: Mapping[str, bool] = MappingProxyType({}),
) -> list[Finding]:
    """Judge an environment's templates.

    `accepted` has the reasons of accepted rights; `protected` tells which stacks can't be deleted by mistake.
    """
    app = App(settings=settings, templates=templates, protected=protected)
    found = list(judged(app, accepted, templates))
    # Such a right could be added later without review.
    for grant in sorted(accepted.keys() - {grant for subject in app.subjects for grant in subject.grants}):
        message = f"{grant}: is accepted, and isn't in the template: take the acceptance out"
        found.append(_finding("rights-accepted", grant.stack, grant.holder.strip("<>"), message))
    return found


def judged(app: App, accepted: Mapping[Grant, str], stacks: Collection[str]) -> Iterator[Finding]:
    """Judge the resources of these stacks, and what the settings say that the app must have."""
    rules: tuple[tuple[str, str, Rule], ...] = (
        *RULES,
        ("rights-accepted", "", partial(rights.rights_accepted, accepted)),
        ("rights-accepted", "", partial(trust.policy_accepted, accepted)),
    )
    for stack in stacks:
        for section, message in template_sections(app.templates[stack], app.settings.prefix):
            yield _finding("known-properties", stack, section, message)
    for subject in (each for each in app.subjects if each.stack in stacks):
        for name, type_, rule in rules:
            if type_ in ("", subject.type):
                yield from (_finding(name, subject.stack, subject.id, line) for line in rule(subject))
    yield from (_finding("as-set", *problem) for rule in EXPECTED for problem in rule(app))


def _finding(rule: str, stack: str, resource: str, message: str) -> Finding:
    level: Level = "warning" if rule in WARNINGS else "error"
    return Finding(rule=rule, level=level, stack=stack, resource=resource, message=message)
