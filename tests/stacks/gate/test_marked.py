"""What the gate refuses is marked for a person's decision when it appears as a difference."""

from pathlib import Path

import pytest

from operate.diff.comparison import Changes, changes, compare
from operate.diff.snapshots import by_stack
from tests.operate.diff.repository import Repository
from tests.stacks.conftest import Synthesized
from tests.stacks.gate.changed import Changed, Mutation, errors
from tests.stacks.gate.mutations import rows

pytestmark = pytest.mark.synth
# Of the unchanged templates, by environment: several have the same name.
FORMS: dict[int, dict[str, dict[str, object]]] = {}


def compared(environment: Synthesized, mutate: Mutation) -> Changes:
    """The changes that a mutation makes, in the changed stacks alone: comparing all takes three times as long."""
    changed = Changed(environment)
    mutate(changed)
    if id(environment) not in FORMS:
        FORMS[id(environment)] = by_stack(environment.settings, environment.synthesis.templates)
    after = by_stack(environment.settings, {stack: changed.templates[stack] for stack in changed.stacks})
    before = {stack: FORMS[id(environment)][stack] for stack in after}
    return compare(environment.settings.name, "before", before, after)


@pytest.mark.parametrize(("environment", "mutate"), [pytest.param(*each.values[:2], id=each.id) for each in rows()])
def test_a_dangerous_change_is_marked(request: pytest.FixtureRequest, environment: str, mutate: Mutation) -> None:
    found = compared(request.getfixturevalue(environment), mutate)
    assert [section.title for section in found.sections if section.grave], found.sections


# One edit of each kind, all in prod's templates at once.
AT_ONCE = """rights: handler makes access keys
rights: nodes read every object
rights: bucket of another account
trust: role of another account
data: public database
data: database without TLS
data: bucket that may be public
data: backups of a day
data: brokers in plain text
data: key that stays the same
data: logs of a day
ports: everything private
network: no names of hosts
code: an old runtime
secrets: secret in a template
Kafka: one replica in sync
topics: kept an hour
topics: compacted
connectors: slot.drop.on.stop=true
connectors: sink to another bucket
notifications: no subscription
notifications: no alarm
objects: lake to deep archive""".splitlines()


def at_once() -> list[Mutation]:
    found = {str(each.id): each.values[1] for each in rows()}
    return [found[name] for name in AT_ONCE]


def grave(found: Changes) -> set[str]:
    return {line for section in found.sections if section.grave for line in section.lines}


def is_in(line: str, others: set[str]) -> bool:
    """Whether a line is there, maybe among more that is said of the same resource."""
    name, _, value = line.partition("): ")
    return any(name in other and value in other for other in others)


def test_many_dangerous_changes_at_once_are_refused_and_marked_one_by_one_although_the_commit_renews_the_snapshots(
    prod: Synthesized, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def all_of_them(changed: Changed) -> None:
        for mutate in mutations:
            mutate(changed)

    mutations = at_once()
    alone = [grave(compared(prod, mutate)) for mutate in mutations]
    assert (len(alone), all(alone)) == (23, True)
    changed = Changed(prod)
    all_of_them(changed)
    assert len(errors(prod, all_of_them)) >= len(alone)
    repository = Repository(tmp_path, monkeypatch)
    repository.renew(prod.settings, prod.synthesis.templates)
    repository.commit()
    repository.git("checkout", "--quiet", "-b", "branch")
    repository.renew(prod.settings, changed.templates)
    repository.commit()
    assert not changes(prod.settings, changed.templates, against="HEAD").any
    found = changes(prod.settings, changed.templates)
    assert found.base.startswith("where HEAD leaves main (")
    assert [lines for lines in alone if not any(is_in(line, grave(found)) for line in lines)] == []
