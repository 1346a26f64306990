"""In any history of a resource's requests, nothing of it is left over or doubled, and nothing of others touched.

Each history runs for every kind of resource; the kinds' own folders have cases that only one of them can meet.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.cases import RUNS, chance
from tests.plugins.releases.server import serving
from tests.stacks.handlers.cloudformation import DeploymentError, Stack, failing, succeeds
from tests.stacks.handlers.journal_store import MemoryStore
from tests.stacks.handlers.kinds import Kind, connector_kind, eks_kind, plugin_kind, step_kind
from tests.stacks.handlers.provider_framework import DEATH, EARLY_DEATH, LOST, SLOW, Payload

KINDS: dict[str, tuple[str, ...]] = {
    "connector": ("settings", "both", "recreated"),
    "plugin": ("content",),
    "step": ("arguments", "names"),
    "EKS connector": ("configuration", "image"),
}
# Seconds for which lists of MSK Connect omit new resources, and show deleted ones.
LAGS = {"connector": (0, 3, 10, 90, 280), "plugin": (0, 90)}
MODELS = [(kind, lag) for kind in KINDS for lag in LAGS.get(kind, (0,))]
CHANGES = [(kind, change) for kind, changes in KINDS.items() for change in changes]
FAULTS = (DEATH, EARLY_DEATH, SLOW, LOST)
# Seconds after which an update is cancelled; a connector's has the most stages.
CANCELLED_AFTER = {"connector": (0, 30, 60, 120, 240, 600), "plugin": (0, 30, 60, 600)}
LATE = "a later request has taken over"


@pytest.fixture
def kind(request: pytest.FixtureRequest) -> Iterator[Kind]:
    """The kind of a test's parameter, a name or with the lag of lists; only its services exist then."""
    value, given = request.getfixturevalue, request.param
    name, lag = (given, 0) if isinstance(given, str) else given
    with serving() as server:
        match name:
            case "connector":
                yield connector_kind(value("world"), value("connect"), list_lag=lag)
            case "plugin":
                value("aws")
                yield plugin_kind(value("world"), value("connect"), server, list_lag=lag)
            case "step":
                yield step_kind(value("world"), value("emr"))
            case _:
                yield eks_kind(value("world"), value("eks"))


@pytest.fixture
def stack(kind: Kind) -> Stack:
    return kind.stack()


def cases(names: str, values: Sequence[Any]) -> pytest.MarkDecorator:
    """A table whose first column is the kind."""
    return pytest.mark.parametrize(names.split(), values, indirect=["kind"], ids=str)


every_kind = pytest.mark.parametrize("kind", KINDS, indirect=True)
every_change = cases("kind change", CHANGES)
both_orders = pytest.mark.parametrize("late_first", [True, False], ids=["late first", "late last"])


def assert_comes_back(kind: Kind, stack: Stack) -> None:
    """The next attempt at the stack finds nothing in its way, and leaves nothing."""
    again = stack.again()
    again.create()
    kind.assert_as(kind.wanted)
    again.delete()
    kind.assert_gone()


@every_change
def test_it_is_made_changed_deleted_and_comes_back(kind: Kind, stack: Stack, change: str) -> None:
    made = stack.create()
    kind.assert_as(kind.wanted)
    before = kind.identity()
    assert stack.update(kind.wanted) == made
    assert kind.identity() == before
    stack.update(kind.changes[change])
    kind.world.drain()
    kind.assert_as(kind.changes[change])
    stack.delete()
    kind.assert_gone()
    stack.delete()
    assert_comes_back(kind, stack)


@both_orders
@pytest.mark.parametrize("after", [0, 30, 60, 300])
@pytest.mark.parametrize("kind", MODELS, indirect=True, ids=str)
def test_a_creation_that_is_cancelled_leaves_nothing(kind: Kind, stack: Stack, after: int, *, late_first: bool) -> None:
    kind.world.late_first = late_first
    cancelled = stack.begin_create()
    kind.world.run(after)
    ended = cancelled.answer is not None
    stack.give_up_creation()
    kind.assert_gone()
    assert cancelled.succeeded is ended
    assert ended or LATE in cancelled.reason
    assert ended is (after == 300)
    assert_comes_back(kind, stack)


# The wait for lists begins with the call: a slow one leaves a minute less.
@cases("kind fault", [(model, fault) for model in MODELS for fault in FAULTS if fault != SLOW or model[1] < 240])
def test_a_creation_whose_call_ends_unknown_leaves_nothing(kind: Kind, stack: Stack, fault: str) -> None:
    kind.end_next(fault)
    created = succeeds(stack.create)
    # CDK's framework treats a dead function as a failed creation; everything else is retried.
    assert created is (fault == LOST)
    if created:
        kind.assert_as(kind.wanted)
        stack.delete()
    kind.assert_gone()
    kind.end_next(fault)
    stack.begin_create()
    kind.world.run(30)
    stack.give_up_creation()
    kind.assert_gone()
    assert_comes_back(kind, stack)


@pytest.mark.parametrize("fault", FAULTS)
@every_change
def test_a_change_whose_call_ends_unknown_converges(kind: Kind, stack: Stack, change: str, fault: str) -> None:
    stack.create()
    kind.end_next(fault)
    changed = succeeds(stack.update, kind.changes[change])
    assert changed is (fault == LOST)
    kind.world.drain()
    kind.assert_as(kind.changes[change] if changed else kind.wanted)
    stack.delete()
    kind.assert_gone()


@both_orders
@cases("kind change after", [(*row, after) for row in CHANGES for after in CANCELLED_AFTER.get(row[0], (0, 60, 600))])
def test_a_cancelled_update_ends_as_its_rollback_wants(
    kind: Kind, stack: Stack, change: str, after: int, *, late_first: bool
) -> None:
    """CloudFormation doesn't learn a cancelled update's new physical id, so it deletes nothing."""
    kind.world.late_first = late_first
    stack.create()
    before = stack.properties
    cancelled = stack.begin_update(kind.changes[change])
    kind.world.run(after)
    stack.roll_back(before)
    kind.assert_as(kind.wanted)
    kind.world.drain()
    kind.assert_as(kind.wanted)
    assert cancelled.succeeded or LATE in cancelled.reason
    stack.update(kind.changes[change])
    kind.world.drain()
    kind.assert_as(kind.changes[change])


@pytest.mark.parametrize("polls", [0, 1, 2, 3])
@every_change
def test_a_cancelled_update_does_nothing_once_its_rollback_has_come(
    kind: Kind, stack: Stack, change: str, polls: int
) -> None:
    """Also when it is polled first: the rollback hasn't checked anything yet."""
    stack.create()
    identity, before = kind.identity(), stack.properties
    cancelled = stack.begin_update(kind.changes[change])
    rollback = stack.begin_rollback(before)
    for _ in range(polls):
        rollback.poll()
    with pytest.raises(DeploymentError, match=LATE):
        cancelled.poll()
    stack.finish(rollback)
    kind.assert_as(kind.wanted)
    assert kind.identity() == identity


@every_kind
def test_a_delivery_that_comes_twice_makes_one(kind: Kind, stack: Stack) -> None:
    first = stack.begin_create()
    second = kind.world.send_again(first)
    assert stack.finish(first) == stack.finish(second)
    kind.assert_as(kind.wanted)
    stack.physical_id = first.answer.physical_id if first.answer else None
    changed = next(iter(kind.changes.values()))
    first = stack.begin_update(changed)
    first.poll()
    second = kind.world.send_again(first)
    second.poll()
    assert stack.finish(first) == stack.finish(second)
    assert [each for each in kind.as_wanted(changed) if each not in kind.there()] == []


@every_kind
@both_orders
def test_what_comes_when_the_stack_is_gone_makes_nothing(kind: Kind, stack: Stack, *, late_first: bool) -> None:
    """A waiter that slept from before its first check, and a second delivery of the first call."""
    kind.world.late_first = late_first
    sleeping = stack.begin_create()
    kind.world.waiters.clear()
    stack.give_up_creation()
    kind.world.run(1_200)
    kind.world.waiters.append(sleeping)
    again = kind.world.send_again(sleeping)
    kind.assert_gone()
    assert LATE in sleeping.reason
    assert LATE in again.reason


@every_change
def test_an_update_that_slept_through_its_rollback_and_the_stacks_end_makes_nothing(
    kind: Kind, stack: Stack, change: str
) -> None:
    stack.create()
    before = stack.properties
    sleeping = stack.begin_update(kind.changes[change])
    sleeping.poll()
    kind.world.waiters.clear()
    kind.world.run(300)
    stack.roll_back(before)
    kind.assert_as(kind.wanted)
    stack.delete()
    kind.world.waiters.append(sleeping)
    kind.assert_gone()
    assert LATE in sleeping.reason


@every_kind
def test_a_renamed_construct_keeps_it(kind: Kind, stack: Stack) -> None:
    """CloudFormation creates the new one first, then deletes the old one."""
    made = stack.create()
    before = kind.identity()
    renamed = stack.renamed()
    assert renamed.create() == made
    stack.delete()
    kind.world.drain()
    kind.assert_as(kind.wanted)
    assert (kind.identity(), kind.owners()) == (before, ["dev-cdc-lake-connectors/Renamed"])
    renamed.update(next(iter(kind.changes.values())))
    renamed.delete()
    kind.assert_gone()


@every_kind
@pytest.mark.parametrize("after", [0, 30, None])
def test_a_rename_that_is_rolled_back_gives_it_back(kind: Kind, stack: Stack, after: int | None) -> None:
    stack.create()
    before = kind.identity()
    renamed = stack.renamed()
    if after is None:
        renamed.create()
        renamed.delete()
    else:
        renamed.begin_create()
        kind.world.run(after)
        renamed.give_up_creation()
    kind.world.drain()
    kind.assert_as(kind.wanted)
    assert (kind.identity(), kind.owners()) == (before, ["dev-cdc-lake-connectors/Source"])
    stack.delete()
    kind.assert_gone()


@pytest.mark.parametrize("kind", [name for name in KINDS if name != "step"], indirect=True)
def test_a_strangers_is_left_alone(kind: Kind, stack: Stack) -> None:
    """EMR's steps have no owner to check; a user's manual step has another name."""
    stack.again(name="another").create()
    before = kind.identity()
    reason = failing(stack.create)
    assert "is there already and isn't this resource's (cdc-lake-owner=another/Source)" in reason
    stack.delete()
    kind.world.drain()
    kind.assert_as(kind.wanted)
    assert (kind.identity(), kind.owners()) == (before, ["another/Source"])


# Seconds for which the service, one of its operations, or the journal refuses to answer.
SILENCES = [
    *((kind, "service", seconds) for kind in KINDS for seconds in (30, 60, 150, 400)),
    *((kind, "journal", 500) for kind in KINDS),
    *(("plugin", each, 300) for each in ("ListCustomPlugins", "ListTagsForResource", "CreateCustomPlugin")),
    *(("connector", each, 300) for each in ("ListConnectors", "DescribeConnector", "TagResource", "CreateConnector")),
    ("connector", "ListTagsForResource", 300),
]


@cases("kind what seconds", SILENCES)
def test_what_answers_nothing_for_minutes_is_waited_for(
    kind: Kind, stack: Stack, records: MemoryStore, request: pytest.FixtureRequest, what: str, seconds: int
) -> None:
    until = 0.0
    records.busy = lambda: what == "journal" and kind.world.clock() < until

    def be_busy() -> None:
        nonlocal until
        until = kind.world.clock() + seconds
        if what == "service":
            kind.busy_until(until)
        elif what != "journal":
            request.getfixturevalue("connect").throttled_until[what] = until

    be_busy()
    stack.create()
    for changed in kind.changes.values():
        be_busy()
        stack.update(changed)
        kind.world.drain()
        kind.assert_as(changed)
    before = stack.properties
    stack.begin_update(kind.wanted)
    kind.world.run(60)
    be_busy()
    stack.roll_back(before)
    kind.world.drain()
    kind.assert_as(changed)
    be_busy()
    stack.delete()
    kind.assert_gone()


@every_kind
def test_a_rollback_from_a_newer_version_of_the_code_works(kind: Kind, stack: Stack) -> None:
    stack.create()
    before = stack.properties
    newer = {**kind.wanted, "aKeyOfTheNextVersion": {}}
    assert "there is no aKeyOfTheNextVersion" in kind.world.finish(stack.begin_update(newer)).reason
    stack.roll_back(before)
    kind.assert_as(kind.wanted)
    stack.begin_update(newer)
    stack.delete()
    kind.assert_gone()


@every_kind
def test_a_request_that_was_refused_needs_no_clean_up(kind: Kind, stack: Stack) -> None:
    for wrong in ({"of": "a newer version"}, dict.fromkeys(kind.wanted)):
        assert "Request: " in failing(stack.create, wrong)
        stack.physical_id = "invented-by-CloudFormation"
        stack.delete()
    kind.assert_gone()


@pytest.mark.parametrize("number", range(RUNS or 3))
@pytest.mark.parametrize("kind", MODELS, indirect=True, ids=str)
def test_any_requests_leave_what_was_deployed_last(kind: Kind, stack: Stack, number: int) -> None:
    chosen, there = chance(number), None
    for _ in range(chosen.randint(3, 8)):
        kind.world.late_first = chosen.random() < 0.5
        if chosen.random() < 0.3:
            kind.busy_until(kind.world.clock() + chosen.choice([30, 90, 300]))
        there = deployed(kind, stack, there, chosen)
        kind.world.drain()
        if there is None:
            kind.assert_gone()
            stack = stack.again()
        else:
            kind.assert_as(there)
    if there is not None:
        stack.delete()
    assert_comes_back(kind, stack)


def deployed(kind: Kind, stack: Stack, there: Payload | None, chosen: random.Random) -> Payload | None:
    """Create, change or delete it, perhaps with a lost call, or cancelled; return what must be there."""
    wanted, before, old_id = chosen.choice([kind.wanted, *kind.changes.values()]), stack.properties, stack.physical_id
    if there is not None and chosen.random() < 0.2:
        stack.delete()
        return None
    if chosen.random() < 0.4:
        kind.end_next(chosen.choice((DEATH, EARLY_DEATH, LOST)))
    waiter = stack.begin_create(wanted) if there is None else stack.begin_update(wanted)
    cancelled_after = chosen.choice([None, None, 0, 30, 60, 120, 240, 600])
    if cancelled_after is None:
        kind.world.finish(waiter)
    else:
        kind.world.run(cancelled_after)
    kind.end_next("")
    if cancelled_after is None and waiter.succeeded:
        stack.take(waiter)
        if there is not None:
            stack._clean_up(before, old_id)
        return wanted
    if there is None:
        stack.give_up_creation()
    else:
        stack.roll_back(before)
    return there
