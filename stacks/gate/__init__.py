"""Project rules on synthesized templates, for what cdk-nag and cfn-lint can't know about this system.

Each rule checks one resource of a template, in the form CloudFormation gets, and yields its problems. Nothing here
needs CDK: the same rules and acceptances judge a template that was changed after synthesis.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType

from stacks.gate import between, manifests, properties, reach, rights, secrets, trust
from stacks.gate.expected import EXPECTED
from stacks.gate.facts import Facts
from stacks.gate.properties import template_sections
from stacks.gate.rights import Accepted, Grant, accepted_statement
from stacks.gate.template import App, Finding, Level, Rule, Templates, plain_text, request_of

__all__ = ["Accepted", "Facts", "Finding", "accepted_statement", "plain_text", "request_of", "review"]

RULES: tuple[tuple[str, Rule], ...] = (
    ("known-properties", properties.known_properties),
    ("known-properties", properties.known_objects),
    ("no-secret-values", secrets.no_secret_values),
    ("no-secret-values", secrets.secrets_generated),
    ("checksums-present", secrets.checksums_present),
    ("kafka-rights-scoped", rights.kafka_rights_scoped),
    ("no-administrators", rights.no_administrators),
    ("rights-of-roles", rights.ordinary_on_ours),
    ("rights-of-roles", rights.managed_policies_known),
    ("trust", trust.trusted_by_role),
    ("trust", trust.everyone_isnt_acceptable),
    ("trust", trust.functions_called_by),
    ("own-account", trust.other_accounts),
    ("own-code", trust.applications_of_amazon),
    ("own-code", between.images_of_amazon),
    ("own-code", between.worn_once),
    ("no-open-ports", reach.no_open_ports),
    ("no-open-ports", reach.out_as_set),
    ("private-network", reach.private_stays_private),
    ("data-closed", reach.databases_for_groups),
    ("data-closed", between.buckets_by_tls),
    ("data-survives", between.database_kept),
    ("data-survives", between.data_survives),
    ("data-survives", between.expires_as_set),
    ("logs-kept", between.logs_kept),
    ("rights-of-readers", trust.lake_formation_reads),
    ("dashboard-sound", trust.shows_own_data),
    ("dashboard-sound", trust.shown_to_people),
    ("kubernetes-closed", manifests.kubernetes_closed),
    ("kubernetes-closed", manifests.members),
    ("kubernetes-closed", manifests.pods_roles),
    ("manifests-sound", manifests.objects_together),
)
# A template may lack a checksum; `./lake aws deploy` and the handler refuse it.
WARNINGS = frozenset({"checksums-present"})


def review(
    templates: Templates,
    facts: Facts,
    accepted: Iterable[Accepted] = (),
    protected: Mapping[str, bool] = MappingProxyType({}),
) -> list[Finding]:
    """Judge an environment's templates; `protected` tells which stacks can't be deleted by mistake."""
    app, accepted = App(facts=facts, templates=templates, protected=protected), tuple(accepted)
    rules: tuple[tuple[str, Rule], ...] = (
        *RULES,
        ("rights-accepted", partial(rights.rights_accepted, accepted)),
        ("rights-accepted", partial(trust.policy_accepted, accepted)),
    )
    found = []
    for stack, template in templates.items():
        found += [
            _finding("known-properties", stack, section, message) for section, message in template_sections(template)
        ]
    for subject in app.subjects:
        found += [_finding(name, subject.stack, subject.id, line) for name, rule in rules for line in rule(subject)]
    found += [_finding("as-set", *problem) for rule in EXPECTED for problem in rule(app)]
    return found + list(_unused(app, accepted))


def _unused(app: App, accepted: Iterable[Accepted]) -> Iterator[Finding]:
    """Report accepted statements that no template has: such a right could be added later without review."""
    there: set[tuple[str, str, Grant]] = set()
    for subject in app.subjects:
        names = list(rights.holders(subject)) or [subject.id]
        for _, statement in rights.statements(subject):
            there.update((subject.stack, name, grant) for grant in rights.grants(statement) for name in names)
    for each in accepted:
        for grant in sorted(each.grants):
            if (each.stack, each.holder, grant) not in there:
                message = f"{grant}: is accepted, and isn't in the template: take the acceptance out"
                yield _finding("rights-accepted", each.stack, each.holder, message)


def _finding(rule: str, stack: str, resource: str, message: str) -> Finding:
    level: Level = "warning" if rule in WARNINGS else "error"
    return Finding(rule=rule, level=level, stack=stack, resource=resource, message=message)
