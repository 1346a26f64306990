"""Output and counts of the commands for query-based pipelines."""

from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import Mock

import boto3
import pytest
from rich.console import Console

from local.resnapshot.run import Wanted
from operate.errors import OperateError
from operate.kafka.cluster import find_pipeline, of_environment
from operate.pausing import objections
from operate.pausing.arrival import Arrival
from operate.resnapshot.tables import reconcile_environment, resnapshot_deployed
from settings.environment import Environment
from settings.load import load
from tests.stacks.environments import mixed, only_queried
from tests.stacks.settings import copied


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return mixed(tmp_path_factory.mktemp("both"))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    environments: Path = copied(tmp_path_factory.mktemp("alone"))
    only_queried(environments)
    return load("dev", environments)


def test_topics_are_those_of_the_pipelines_that_have_some(both: Environment, alone: Environment) -> None:
    backwards = both.model_copy(update={"pipelines": both.pipelines[::-1]})
    assert find_pipeline(both, None).name == find_pipeline(backwards, None).name == "orders"
    assert find_pipeline(both, "replica").name == "replica"
    # No login here: the message comes before any request.
    for environment, name in ((both, "replica"), (alone, None)):
        with pytest.raises(OperateError, match="is queried: nothing of it is in Kafka, and no connector reads it"):
            of_environment(environment, name)


def test_there_is_no_snapshot_to_repeat(both: Environment) -> None:
    queried, line = both.pipelines[1], r"pagilaquery is queried, so there is no snapshot .* job\.read_again"
    with pytest.raises(OperateError, match=line):
        resnapshot_deployed(both, queried, [], Wanted(), Console(), print)
    with pytest.raises(OperateError, match=line):
        reconcile_environment(both, queried, [], Console(), repair=True, timeout_s=0)


def test_a_pause_waits_for_nothing_of_it(alone: Environment) -> None:
    cloudwatch = Mock()
    assert Arrival(cloudwatch, alone, lambda: datetime.now(UTC)).missing() is None
    assert not cloudwatch.mock_calls


def test_neither_its_slot_nor_the_environments_own_database_speaks_against_a_pause(both: Environment) -> None:
    assert list(objections.outside(boto3.Session(region_name="ap-southeast-2"), both)) == []
