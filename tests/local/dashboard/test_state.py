"""One word and its reason, from the results of polls."""

import pytest

from contract.states import Word
from local.dashboard.stages import Stage
from local.dashboard.state import DOWN, UP, Alive, State, judge

ALL = frozenset({"job", "kafka", "s3"})
WELL = Alive(expected=ALL, running=ALL)


def stage(name: str = "landing", *, lag_s: float = 0.0, lag_events: int = 0) -> Stage:
    return Stage(name=name, lag_s=lag_s, lag_events=lag_events)


def state(
    alive: Alive | None = WELL, problems: tuple[str, ...] | None = (), *stages: Stage, unanswered_s: float = 0.0
) -> State:
    return judge(alive, problems, stages, unanswered_s=unanswered_s)


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (state(None, None), Word.STARTING),
        (state(WELL, None), Word.STARTING),
        (state(Alive(), None), Word.DOWN),
        (state(), Word.UP_TO_DATE),
        (state(WELL, (), stage(lag_s=1, lag_events=2)), Word.MOVING),
        (state(WELL, (), stage(lag_s=61, lag_events=2)), Word.LATE),
        (state(WELL, ("connector x has failed: no",)), Word.FAILING),
        (state(Alive(expected=ALL, running=ALL - {"job"})), Word.FAILING),
        (state(Alive(expected=ALL, running=ALL, stopped=frozenset({"s3"}))), Word.FAILING),
        (state(Alive(expected=ALL, running=ALL, stopped=frozenset({"one that was not started"}))), Word.UP_TO_DATE),
        (state(unanswered_s=11), Word.NO_ANSWER),
    ],
)
def test_the_word_is_the_worst_that_is_true(found: State, word: Word) -> None:
    assert found.word == word
    assert found.reason


def test_a_dead_service_comes_before_everything_else() -> None:
    found = state(Alive(expected=ALL, running=ALL - {"job"}), None, unanswered_s=99)
    assert (found.word, found.reason, found.parts) == (Word.FAILING, "job is dead", ("job",))


def test_a_service_that_is_held_up_is_named() -> None:
    found = state(Alive(expected=ALL, running=ALL, stopped=frozenset({"kafka"})))
    assert found.reason == "kafka is stopped by a signal"


def test_what_status_says_of_a_dead_service_is_the_reason() -> None:
    said = "job is dead, the supervisor starts it again: see job.log"
    assert state(Alive(expected=ALL, running=ALL - {"job"}), (said,)).reason == said


def test_several_problems_are_counted_and_their_services_named() -> None:
    found = state(WELL, ("kafka denies it", "the job fails at table x"))
    assert found.reason == "kafka denies it (and 1 more)"
    assert found.parts == ("job", "kafka")


def test_what_is_on_its_way_is_counted() -> None:
    assert state(WELL, (), stage(lag_events=2), stage("lake", lag_s=3, lag_events=5)).reason == "5 events on their way"


def test_the_slowest_stage_is_named_when_it_is_late() -> None:
    found = state(WELL, (), stage(lag_s=2, lag_events=1), stage("lake", lag_s=75, lag_events=5))
    assert found.reason == "lake is 75 s behind, 5 events on their way"


def test_what_a_start_hasnt_started_yet_is_no_failure() -> None:
    partly = Alive(expected=ALL, running=ALL - {"job", "s3"})
    found = judge(partly, None, (), unanswered_s=0, command=UP)
    assert (found.word, found.reason) == (Word.STARTING, "`./lake up` is at work: job, s3")
    assert judge(WELL, ["kafka doesn't answer yet"], (), unanswered_s=0, command=UP).word == Word.STARTING
    assert judge(WELL, [], (), unanswered_s=0, command=UP).word == Word.UP_TO_DATE


def test_what_a_stop_has_stopped_already_is_no_failure() -> None:
    found = judge(Alive(expected=ALL, running=ALL - {"job"}), None, (), unanswered_s=0, command=DOWN)
    assert (found.word, found.parts) == (Word.DOWN, ())
