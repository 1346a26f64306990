"""What a pause leaves out of the templates; everything else stays unchanged."""

import functools
import json
from pathlib import Path
from typing import Any

import pytest

from contract.errors import CANNOT
from operate.costs.lines import CONNECTORS, EMR
from operate.diff import snapshots
from settings.load import load
from stacks.paused import OUTPUT, Paused
from tests.cases import long
from tests.stacks.conftest import Synthesized, synthesized
from tests.stacks.environments import STREAMED, many_pipelines

pytestmark = pytest.mark.synth

Syntheses = dict[Paused, Synthesized]


def of_environment(folder: Path, environment: Any, **options: Any) -> Syntheses:
    return {paused: synthesized(environment, folder, paused=paused, **options) for paused in Paused}


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Syntheses:
    return of_environment(tmp_path_factory.mktemp("dev"), load("dev"))


@pytest.fixture(scope="module", params=["dev", long("many")])
def one_or_many(request: pytest.FixtureRequest) -> tuple[Syntheses, int]:
    """An environment's syntheses, and how many of its pipelines have connectors."""
    return request.getfixturevalue(request.param), {"dev": 1, "many": len(STREAMED)}[request.param]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Syntheses:
    folder = tmp_path_factory.mktemp("many")
    return of_environment(folder / "cdk.out", many_pipelines(folder), pipelines=folder / "pipelines")


def gone(syntheses: Syntheses, paused: Paused, stack: str) -> list[str]:
    before, after = syntheses[Paused.NOTHING][stack]["Resources"], syntheses[paused][stack]["Resources"]
    return sorted(before[id_]["Type"] for id_ in before.keys() - after.keys())


def changed(syntheses: Syntheses, paused: Paused, stack: str) -> set[str]:
    """The types of remaining resources with changed properties; dependencies aren't properties."""
    before, after = syntheses[Paused.NOTHING][stack]["Resources"], syntheses[paused][stack]["Resources"]
    both = before.keys() & after.keys()
    return {before[id_]["Type"] for id_ in both if before[id_].get("Properties") != after[id_].get("Properties")}


def test_first_the_sources_go_then_all_connectors_and_emr(one_or_many: tuple[Syntheses, int]) -> None:
    syntheses, pipelines = one_or_many
    assert gone(syntheses, Paused.SOURCES, "connectors") == ["Custom::Connector"] * pipelines
    assert gone(syntheses, Paused.SOURCES, "processing") == []
    assert gone(syntheses, Paused.ALL, "connectors") == ["Custom::Connector"] * 2 * pipelines
    assert gone(syntheses, Paused.ALL, "processing") == ["AWS::EMR::Cluster", "Custom::EmrStep"]


def test_nothing_else_changes_but_alarms_and_the_topics_look(one_or_many: tuple[Syntheses, int]) -> None:
    syntheses, _ = one_or_many
    for paused in (Paused.SOURCES, Paused.ALL):
        topics = {"Custom::Topics"} if paused is Paused.ALL else set()
        assert changed(syntheses, paused, "connectors") == topics
        assert changed(syntheses, paused, "processing") == set()
        assert changed(syntheses, paused, "monitoring") == {"AWS::CloudWatch::Alarm"}
        for stack in ("network", "vpn", "database", "streaming", "lake", "analytics"):
            assert syntheses[paused][stack] == syntheses[Paused.NOTHING][stack]


def test_no_stack_imports_what_a_pause_takes_away(dev: Syntheses) -> None:
    def exports(made: Synthesized) -> set[str]:
        outputs = [output for template in made.by_role.values() for output in template.get("Outputs", {}).values()]
        return {json.dumps(output["Export"]) for output in outputs if "Export" in output}

    assert exports(dev[Paused.ALL]) == exports(dev[Paused.NOTHING])


@pytest.mark.parametrize("name", sorted(path.name for path in snapshots.SNAPSHOTS.iterdir()))
def test_what_a_template_leaves_out_is_deleted_where_everything_else_is_kept(name: str) -> None:
    """CloudFormation would let go of a resource that it has to keep, and it would keep running."""
    stopped = {CONNECTORS.type, EMR.type, "Custom::EmrStep"}
    made = [each for template in snapshots.read(load(name)).values() for each in template["Resources"].values()]
    policies = {(each["Type"], each.get("DeletionPolicy", "Delete")) for each in made if each["Type"] in stopped}
    assert policies == {(type_, "Delete") for type_ in stopped}


def test_the_topics_are_looked_at_again_when_a_pause_ends(dev: Syntheses) -> None:
    [running] = dev[Paused.NOTHING].properties("connectors", "Custom::Topics")
    [paused] = dev[Paused.ALL].properties("connectors", "Custom::Topics")
    assert OUTPUT not in running
    assert paused == {**running, OUTPUT: "all"}


def test_who_must_run_so_that_the_end_of_a_job_is_clean_stays(dev: Syntheses) -> None:
    [step] = dev[Paused.NOTHING].properties("processing", "Custom::EmrStep")
    handler, _ = step["ServiceToken"]["Fn::GetAtt"]
    assert handler in dev[Paused.ALL]["processing"]["Resources"]
    # CloudFormation deletes a resource before those that it refers to.
    [cluster] = dev[Paused.NOTHING].resources("processing", EMR.type)
    assert {"Ref": cluster} in step["Request"]["Fn::Join"][1]


def test_a_pause_rings_for_the_brokers_disks_alone(dev: Syntheses) -> None:
    def ringing(paused: Paused) -> set[str]:
        return {
            alarm["AlarmName"].removeprefix("dev-cdc-lake-")
            for alarm in dev[paused].properties("monitoring", "AWS::CloudWatch::Alarm")
            if alarm.get("ActionsEnabled", True)
        }

    assert ringing(Paused.SOURCES) == ringing(Paused.ALL) == {"broker-disk"}
    assert len(ringing(Paused.NOTHING)) == 11


def test_a_start_of_the_database_by_aws_is_mailed_in_a_pause(dev: Syntheses) -> None:
    usual = dev[Paused.NOTHING].properties("monitoring", "AWS::Events::Rule")
    paused = dev[Paused.ALL].properties("monitoring", "AWS::Events::Rule")
    [rule] = [each for each in paused if each not in usual]
    assert rule["EventPattern"] == {
        "source": ["aws.rds"],
        "detail-type": ["RDS DB Cluster Event"],
        "detail": {"EventID": ["RDS-EVENT-0153"], "SourceIdentifier": ["dev-cdc-lake"]},
    }
    assert "`./lake aws pause -e dev` stops it again" in json.dumps(rule["Targets"])


def test_each_stack_says_what_it_leaves_out(dev: Syntheses) -> None:
    for stack in ("connectors", "processing", "monitoring"):
        assert OUTPUT not in dev[Paused.NOTHING][stack]["Outputs"]
        for paused in (Paused.SOURCES, Paused.ALL):
            assert dev[paused][stack]["Outputs"][OUTPUT] == {"Value": paused.value}
    assert {"SourceConnectorArn", "SinkConnectorArn"} <= dev[Paused.NOTHING]["connectors"]["Outputs"].keys()
    assert not {"SourceConnectorArn", "SinkConnectorArn"} & dev[Paused.ALL]["connectors"]["Outputs"].keys()


@pytest.mark.parametrize(("paused", "line"), [long("all", ""), ("a bit", "it is one of nothing, sources, all")])
def test_plain_cdk_makes_the_same_by_its_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], paused: str, line: str
) -> None:
    import app

    monkeypatch.setenv("CDK_CONTEXT_JSON", json.dumps({"env": "dev", "paused": paused}))
    # Node.js, which may run already, wouldn't see another CDK_OUTDIR.
    monkeypatch.setattr(app, "build", functools.partial(app.build, outdir=tmp_path))
    if line:
        with pytest.raises(SystemExit) as ended:
            app.main()
        assert (ended.value.code, capsys.readouterr().err) == (CANNOT, f"synth: -c paused={paused}: {line}\n")
        return
    app.main()
    made = json.loads((tmp_path / "dev-cdc-lake-processing.template.json").read_text())
    assert made["Outputs"][OUTPUT] == {"Value": "all"}
