"""The compose file by its keys, and starting it with a docker on PATH that records its arguments."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from operate.errors import OperateError
from operate.kafka import cluster
from operate.kafka.cluster import COMPOSE_FILE, Cluster, variables

CLUSTER = Cluster(environment="dev", bootstrap_servers="b-1:9098,b-2:9098", topics={"t": "t"}, region="ap-southeast-2")
# compose-spec's schema, as far as the file uses it.
SERVICE_KEYS = {"image", "user", "ports", "volumes", "environment", "cap_drop", "security_opt"}
START = """
from pathlib import Path
from operate.kafka.cluster import Cluster, start_ui
start_ui(Cluster(environment="dev", bootstrap_servers="b-1:9098,b-2:9098", topics={"t": "t"}, region="ap-southeast-2"))
"""
DOCKER = """#!{python}
import json, os, sys
if "version" not in sys.argv:
    with open({record!r}, "w") as file:
        json.dump({{"argv": sys.argv[1:], "environment": dict(os.environ)}}, file)
sys.exit({status})
"""


def fake_docker(folder: Path, *, status: int = 0) -> Path:
    """Put a docker into a folder for PATH, and return the file in which it records its call."""
    record = folder / "call.json"
    (folder / "bin").mkdir()
    (folder / "home" / ".aws").mkdir(parents=True)
    docker = folder / "bin" / "docker"
    docker.write_text(DOCKER.format(python=sys.executable, record=str(record), status=status))
    docker.chmod(0o755)
    return record


def test_a_pinned_image_listens_here_alone_changes_nothing_and_logs_in_by_iam_over_tls() -> None:
    content = yaml.safe_load(COMPOSE_FILE.read_text())
    assert (set(content), set(content["services"])) == ({"name", "services"}, {"kafka-ui"})
    service, prefix = content["services"]["kafka-ui"], "KAFKA_CLUSTERS_0_PROPERTIES_"
    assert re.fullmatch(r"ghcr\.io/kafbat/kafka-ui:v\d+\.\d+\.\d+@sha256:[0-9a-f]{64}", service["image"])
    assert service["ports"] == ["127.0.0.1:8080:8080"]
    assert service["environment"]["KAFKA_CLUSTERS_0_READONLY"] == "${KAFKA_UI_READONLY:-true}"
    assert [volume["read_only"] for volume in service["volumes"]] == [True]
    assert set(service) == SERVICE_KEYS
    properties = {
        name.removeprefix(prefix): value for name, value in service["environment"].items() if name.startswith(prefix)
    }
    assert properties == {
        "SECURITY_PROTOCOL": "SASL_SSL",
        "SASL_MECHANISM": "AWS_MSK_IAM",
        "SASL_CLIENT_CALLBACK_HANDLER_CLASS": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
        "SASL_JAAS_CONFIG": "software.amazon.msk.auth.iam.IAMLoginModule required;",
    }


def test_every_variable_of_the_file_is_filled_in() -> None:
    wanted = set(re.findall(r"\$\{(\w+):\?", COMPOSE_FILE.read_text()))
    filled = variables(CLUSTER, Path("/home/someone/.aws"))
    assert wanted == set(filled)
    assert all(filled.values())


def test_docker_gets_the_brokers_in_its_environment_and_no_secret_in_its_arguments(tmp_path: Path) -> None:
    record = fake_docker(tmp_path)
    environment = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home"), "AWS_SECRET_ACCESS_KEY": "s3cret"}
    command = [sys.executable, "-c", START]
    done = subprocess.run(
        command, cwd=COMPOSE_FILE.parents[1], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "http://127.0.0.1:8080" in done.stdout
    call = json.loads(record.read_text())
    assert call["argv"] == ["compose", "--file", str(COMPOSE_FILE), "up"]
    expected = variables(CLUSTER, tmp_path / "home" / ".aws")
    assert expected.items() <= call["environment"].items()


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (".", r"needs Docker, which isn't there; `\./lake kafka topics` and `\./lake kafka tail`"),
        ("bin", r"install Docker Compose 2; `\./lake kafka topics`"),
    ],
)
def test_what_is_missing_of_docker_is_one_line_with_what_does_it_without(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str, said: str
) -> None:
    fake_docker(tmp_path, status=1)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / path))
    with pytest.raises(OperateError, match=said):
        cluster.start_ui(CLUSTER)


def test_without_a_credentials_folder_docker_makes_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(OperateError, match=r"~/\.aws, which isn't there"):
        cluster.start_ui(CLUSTER)
    assert not (tmp_path / ".aws").exists()
