"""The resources that a change of settings touches, and those that it must leave alone."""

from typing import Any

import pytest

from settings.environment import Environment
from settings.load import load
from stacks.gate.template import request_of
from tests.synthesis import shared_synthesis

pytestmark = pytest.mark.synth

Templates = dict[str, dict[str, Any]]


def changed_settings() -> Environment:
    """dev's settings, except for a connector's flush interval and workers, and a job's option."""
    dev = load("dev")
    [orders] = dev.pipelines
    source = orders.source.model_copy(update={"workers": 2})
    sink = orders.sink.model_copy(update={"flush_interval_seconds": 30})
    job = orders.job.model_copy(update={"sync_interval_seconds": 60})
    changed = orders.model_copy(update={"source": source, "sink": sink, "job": job})
    return dev.model_copy(update={"pipelines": (changed,)})


@pytest.fixture(scope="module")
def before_and_after(tmp_path_factory: pytest.TempPathFactory) -> tuple[Templates, Templates]:
    before, after = tmp_path_factory.mktemp("before"), tmp_path_factory.mktemp("after")
    return shared_synthesis(load("dev"), before).templates, shared_synthesis(changed_settings(), after).templates


def touched(before: Templates, after: Templates) -> set[str]:
    """The resources that differ, as `stack/type`; none may have been added or removed."""
    found = set()
    for stack, template in before.items():
        assert template["Resources"].keys() == after[stack]["Resources"].keys()
        for logical_id, resource in template["Resources"].items():
            if resource != after[stack]["Resources"][logical_id]:
                found.add(f"{stack.removeprefix('dev-cdc-lake-')}/{resource['Type']}/{logical_id}")
    return found


def test_only_what_was_changed_is_touched(before_and_after: tuple[Templates, Templates]) -> None:
    found = touched(*before_and_after)
    assert {name for name in found if name.startswith("connectors/")} == {
        "connectors/Custom::Connector/SinkConnector",
        "connectors/Custom::Connector/SourceConnector",
    }
    # The tables' settings are files named by content, which the job's nodes may then read.
    assert {name.split("/")[1] for name in found if name.startswith("processing/")} == {
        "AWS::IAM::Policy",
        "Custom::EmrStep",
    }
    assert {name.partition("/")[0] for name in found} == {"connectors", "processing"}


def test_a_connector_keeps_its_name_role_plugin_and_everything_else(
    before_and_after: tuple[Templates, Templates],
) -> None:
    """In place, that is: another name would be another slot, other offsets and another consumer group."""
    requests = [
        request_of(templates["dev-cdc-lake-connectors"]["Resources"]["SinkConnector"]) for templates in before_and_after
    ]
    before, after = requests
    assert before is not None
    assert after is not None
    assert {key for key in before if before[key] != after[key]} == {"connectorConfiguration"}
    configurations = before["connectorConfiguration"], after["connectorConfiguration"]
    assert {key for key in configurations[0] if configurations[0][key] != configurations[1][key]} == {"connect.s3.kcql"}


def test_capacity_is_a_change_of_its_own(before_and_after: tuple[Templates, Templates]) -> None:
    before, after = (
        request_of(templates["dev-cdc-lake-connectors"]["Resources"]["SourceConnector"])
        for templates in before_and_after
    )
    assert before is not None
    assert after is not None
    assert {key for key in before if before[key] != after[key]} == {"capacity"}
