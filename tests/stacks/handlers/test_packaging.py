"""Lambda's packages: the handlers import there, and use the same API model as these tests."""

import os
import subprocess
import sys
from pathlib import Path

from botocore import loaders

from contract.lake import STOP_FILE
from stacks import lambda_assets

MODULES = ("connector_plugin", "connector", "bootstrap_brokers", "topics")


def test_the_staged_handlers_can_be_called(tmp_path: Path) -> None:
    staged = lambda_assets.stage("plugins", staging=tmp_path)
    script = "\n".join(
        [
            "import importlib, plugins.releases.archive, plugins.releases.download",
            "from stacks.handlers import connector_restarts",
            "assert callable(connector_restarts.handler)",
            f"for name in {MODULES}:",
            "    module = importlib.import_module(f'stacks.handlers.{name}')",
            "    assert callable(module.on_event) and callable(module.is_complete)",
            "    print(module.__file__)",
            # No test's working directory, no CDK, none of the command lines.
            "import sys",
            "print(sorted({'aws_cdk', 'typer', 'rich', 'mypy_boto3_kafkaconnect'} & sys.modules.keys()))",
        ]
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(staged)},
        capture_output=True,
        text=True,
        check=True,
    )
    *files, forbidden = done.stdout.splitlines()
    assert [Path(file).is_relative_to(staged) for file in files] == [True] * len(MODULES)
    assert forbidden == "[]"


def test_a_handler_without_packages_has_the_contract(tmp_path: Path) -> None:
    staged = lambda_assets.stage(staging=tmp_path)
    script = "from stacks.handlers import emr_step; print(emr_step.STOP_FILE)"
    environment = {**os.environ, "PYTHONPATH": str(staged)}
    run = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.stdout.strip() == STOP_FILE, run.stderr


def test_lambda_takes_the_staged_api_model(tmp_path: Path) -> None:
    staged = lambda_assets.stage(staging=tmp_path)
    # AWS_DATA_PATH, as botocore reads it.
    loader = loaders.create_loader(str(staged / lambda_assets.MODELS))
    model, path = loader.load_data_with_path("kafkaconnect/2021-09-14/service-2")
    assert Path(path).is_relative_to(staged)
    members = model["shapes"]["UpdateConnectorRequest"]["members"]
    assert {"plugins", "workerConfiguration", "skipHealthValidation"} <= members.keys()
