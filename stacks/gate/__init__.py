"""Project rules on synthesized templates, for what cdk-nag and cfn-lint can't know about this system.

Each rule checks one resource of a template, in the form CloudFormation gets, and yields its problems. Nothing here
needs CDK: the same rules and acceptances judge a template that was changed after synthesis.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from stacks.gate import data, manifests, reach, rights, secrets, trust
from stacks.gate.known import known_types, template_sections
from stacks.gate.rights import Accepted, Grant, accepted_statement
from stacks.gate.template import App, Facts, Finding, Level, Rule, Templates, plain_text, request_of

__all__ = ["Accepted", "Facts", "Finding", "accepted_statement", "plain_text", "request_of", "review"]

RULES: tuple[tuple[str, Rule], ...] = (
    ("known-types", known_types),
    ("no-secret-values", secrets.no_secret_values),
    ("no-secret-values", secrets.secrets_generated),
    ("checksums-present", secrets.checksums_present),
    ("kafka-rights-scoped", rights.kafka_rights_scoped),
    ("no-administrators", rights.no_administrators),
    ("rights-of-roles", rights.roles_only),
    ("trust", trust.trusted_by_role),
    ("trust", trust.everyone_isnt_acceptable),
    ("trust", trust.functions_called_by),
    ("own-account", trust.other_accounts),
    ("own-code", trust.code_of_ours),
    ("no-open-ports", reach.no_open_ports),
    ("private-network", reach.private_stays_private),
    ("private-network", reach.routes_as_designed),
    ("private-network", reach.public_addresses),
    ("private-network", reach.services_of_aws),
    ("data-closed", data.database_closed),
    ("data-closed", reach.databases_for_groups),
    ("data-closed", data.brokers_closed),
    ("data-closed", data.connectors_by_tls),
    ("data-closed", data.cluster_closed),
    ("data-closed", data.buckets_closed),
    ("data-closed", data.keys_rotate),
    ("data-closed", data.disks_encrypted),
    ("data-closed", data.alarms_go_to_people),
    ("data-closed", data.budgets_tell_the_alarms_topic),
    ("data-closed", trust.workgroups_closed),
    ("rights-of-readers", trust.lake_formation_reads),
    ("dashboard-sound", trust.sources_as_a_role),
    ("dashboard-sound", trust.shows_own_data),
    ("dashboard-sound", trust.shown_to_people),
    ("kubernetes-closed", manifests.kubernetes_closed),
    ("kubernetes-closed", manifests.members),
    ("kubernetes-closed", manifests.pods_roles),
    ("kubernetes-closed", manifests.addons_known),
    ("manifests-sound", manifests.manifests_sound),
    ("data-survives", data.data_survives),
    ("logs-kept", data.logs_kept),
)
# A template may lack a checksum; `./lake aws deploy` and the handler refuse it.
WARNINGS = frozenset({"checksums-present"})


def review(templates: Templates, facts: Facts, accepted: Iterable[Accepted] = ()) -> list[Finding]:
    app, accepted = App(facts=facts, templates=templates), tuple(accepted)
    rules: tuple[tuple[str, Rule], ...] = (
        *RULES,
        ("rights-accepted", partial(rights.rights_accepted, accepted)),
        ("rights-accepted", partial(trust.policy_accepted, accepted)),
    )
    found = []
    for stack, template in templates.items():
        found += [_finding("known-types", stack, section, message) for section, message in template_sections(template)]
    for subject in app.subjects():
        found += [_finding(name, subject.stack, subject.id, line) for name, rule in rules for line in rule(subject)]
    return found + list(_unused(app, accepted))


def _unused(app: App, accepted: Iterable[Accepted]) -> Iterator[Finding]:
    """Report accepted statements that no template has: such a right could be added later without review."""
    there: set[tuple[str, str, Grant]] = set()
    for subject in app.subjects():
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
