"""The Connect worker: its configuration, plugins and properties."""

import io
import json
import shlex
import urllib.error
import zipfile
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from email.message import Message
from pathlib import Path
from unittest.mock import Mock

import pytest

from local.errors import PlatformError
from local.services import connect_api
from local.services.connect import JDBC, LENSES, Connect, UserPlugin
from local.services.connect_api import TRIED_S, ConnectApi, RequestError
from local.services.jvm import write_properties
from local.services.spark import _environment, job_settings
from plugins.releases.archive import RESOURCES_JAR
from plugins.workers.connect_workers import EVERY_VALUE, IS_TRUNCATE


def connect(folder: Path, lenses: Path | None = None) -> Connect:
    return Connect(folder, port=20_000, bootstrap_servers="127.0.0.1:20001", lenses=lenses)


def test_the_password_is_in_a_private_file_of_the_one_folder_that_the_worker_reads(tmp_path: Path) -> None:
    reference = connect(tmp_path).password_reference("s3cret")
    path = tmp_path / "secrets" / "connector.properties"
    assert reference == f"${{file:{path}:password}}"
    assert path.read_text() == "password=s3cret\n"
    assert path.stat().st_mode & 0o077 == 0
    properties = connect(tmp_path).properties()
    assert properties["config.providers.file.param.allowed.paths"] == str(path.parent)
    assert properties["listeners"] == "http://127.0.0.1:20000"
    with pytest.raises(PlatformError, match=r"move the platform away from .*a:b"):
        connect(tmp_path / "a:b").password_reference("s3cret")


@pytest.mark.usefixtures("own_jars")
def test_debezium_is_unpacked_once_with_our_classes_and_another_version_goes(tmp_path: Path) -> None:
    (tmp_path / "plugins" / "debezium-connector-postgres-3.3.1.Final-plugin").mkdir(parents=True)
    kept = []
    for _ in range(2):
        connect(tmp_path).install_plugins()
        (plugin,) = (tmp_path / "plugins").glob("debezium-*")
        [jar] = plugin.glob("**/debezium-connector-postgres-3*.jar")
        kept.append((jar.stat().st_ctime_ns, (plugin / RESOURCES_JAR).read_bytes()))
    assert kept[0] == kept[1]
    with zipfile.ZipFile(plugin / RESOURCES_JAR) as packed:
        for name in (IS_TRUNCATE.name, EVERY_VALUE.name):
            assert packed.read(f"{name.replace('.', '/')}.class").startswith(b"\xca\xfe\xba\xbe")


S3_JAR = "kafka-connect-aws-s3-11.7.2.jar"
AIVENS_JAR, CONFLUENTS_JAR = "jdbc-connector-for-apache-kafka-6.10.0.jar", "kafka-connect-jdbc-10.8.4.jar"


def released(folder: Path, jar: str, *, packed: bool) -> Path:
    """A release with this jar in its own folder, and its zip archive."""
    release = folder / "release"
    path = release / "connector" / "lib" / jar
    path.parent.mkdir(parents=True)
    path.write_bytes(b"jar")
    if not packed:
        return release
    archive = folder / "release.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.write(path, path.relative_to(release))
    return archive


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(
    ("given", "jar", "found"),
    [
        (LENSES, S3_JAR, ("io.lenses.streamreactor.connect.aws.s3.sink.S3SinkConnector", "11.7.2")),
        (JDBC, AIVENS_JAR, ("io.aiven.connect.jdbc.JdbcSourceConnector", "6.10.0")),
        (JDBC, CONFLUENTS_JAR, ("io.confluent.connect.jdbc.JdbcSourceConnector", "10.8.4")),
    ],
)
def test_a_release_joins_the_plugins_and_leaves_them(
    tmp_path: Path, given: UserPlugin, jar: str, found: tuple[str, str], *, packed: bool
) -> None:
    plugins = tmp_path / "worker" / "plugins"
    plugins.mkdir(parents=True)
    release = released(tmp_path, jar, packed=packed)
    other = released(tmp_path / "other", jar.replace(".jar", "-2.jar"), packed=packed)
    assert (given.differs(plugins, None), given.differs(plugins, release)) == (False, True)
    given.install(plugins, release)
    assert list((plugins / given.folder).glob(f"**/{jar}"))
    assert (given.connector_class(plugins), given.version(plugins)) == found
    assert [given.differs(plugins, one) for one in (None, release, other)] == [True, False, True]
    given.install(plugins, None)
    assert not (plugins / given.folder).exists()
    with pytest.raises(PlatformError, match=f"{given.variable} isn't installed"):
        given.connector_class(plugins)


@pytest.mark.usefixtures("own_jars")
def test_the_worker_has_a_given_plugin_alone_and_looks_into_its_every_class(tmp_path: Path) -> None:
    release, worker = released(tmp_path, S3_JAR, packed=False), tmp_path / "worker"
    for given, discovery in ((release, "hybrid_warn"), (None, "service_load")):
        connect(worker, given).install_plugins()
        assert bool(list(worker.glob(f"plugins/lenses/**/{S3_JAR}"))) is (given is not None)
        assert connect(worker, given).properties()["plugin.discovery"] == discovery


@pytest.mark.usefixtures("in_tokyo")
@pytest.mark.parametrize(("age", "trace"), [(0, "\nlost\n"), (TRIED_S + 1, ""), (-60, "")])
def test_what_debezium_tries_again_counts_for_seconds_unless_the_clock_was_set_back(
    tmp_path: Path, age: int, trace: str
) -> None:
    log, at = tmp_path / "worker.log", datetime.now(UTC) - timedelta(seconds=age)
    log.write_text(f"{at:%Y-%m-%d %H:%M:%S},000 ERROR ErrorHandler: Producer failure\nlost\n")
    assert ConnectApi("http://127.0.0.1:1", log=log)._tried_again() == trace


REBALANCES = "Request cannot be completed because a rebalance is expected"


@pytest.mark.parametrize(
    ("status", "reason", "asked"), [(500, REBALANCES, 2), (409, "stale", 2), (500, "another", 1), (503, "starting", 1)]
)
def test_a_worker_that_takes_over_a_configuration_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, status: int, reason: str, asked: int
) -> None:
    body = io.BytesIO(json.dumps({"message": reason}).encode())
    refusal = urllib.error.HTTPError("http://127.0.0.1:1", status, "refused", Message(), body)
    opener = Mock(open=Mock(side_effect=[refusal, io.BytesIO(b'{"name": "shop"}')]))
    monkeypatch.setattr(connect_api, "_OPENER", opener)
    api = ConnectApi("http://127.0.0.1:1")
    with nullcontext() if asked > 1 else pytest.raises(RequestError, match=reason):
        assert api.configuration("shop") == {"name": "shop"}
    assert opener.open.call_count == asked


def _damaged() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for jar in (S3_JAR, CONFLUENTS_JAR):
            archive.writestr(jar, b"classes" * 100)
    start = made.getvalue().index(S3_JAR.encode()) + len(S3_JAR)
    return made.getvalue()[:start] + b"\xff" * 8 + made.getvalue()[start + 8 :]


@pytest.mark.parametrize("given", [LENSES, JDBC])
@pytest.mark.parametrize("content", [None, b"text", pytest.param(_damaged(), id="damaged")])
def test_a_wrong_path_is_one_line(tmp_path: Path, given: UserPlugin, content: bytes | None) -> None:
    release = tmp_path / "release.zip"
    if content is not None:
        release.write_bytes(content)
    with pytest.raises(PlatformError, match=f"{given.variable}={release} is neither a folder nor a zip") as error:
        given.install(tmp_path / "plugins", release)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("given", "jar", "wanted"),
    [
        (LENSES, CONFLUENTS_JAR, r"LENSES_PLUGIN=.* holds no kafka-connect-aws-s3\*\.jar: is it the S3 connector's"),
        (
            JDBC,
            S3_JAR,
            "holds no jdbc-connector-for-apache-kafka-.* or kafka-connect-jdbc-.*: is it a JDBC connector's",
        ),
    ],
)
def test_a_release_of_something_else_is_refused(tmp_path: Path, given: UserPlugin, jar: str, wanted: str) -> None:
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    with pytest.raises(PlatformError, match=wanted):
        given.install(plugins, released(tmp_path, jar, packed=False))
    assert not (plugins / given.folder).exists()


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("plain:/a=b#c!", "plain:/a=b#c!"),
        ("C:\\data", "C:\\\\data"),
        (" led by a blank", "\\ led by a blank"),
        ("Gerät", "Ger\\u00e4t"),
        ("two\nlines", "two\\u000alines"),
        ("😀", "\\ud83d\\ude00"),
        ("", ""),
    ],
)
def test_values_are_escaped_as_java_reads_them(tmp_path: Path, value: str, line: str) -> None:
    path = tmp_path / "new" / "server.properties"
    write_properties(path, {"key": value, "node.id": "1"})
    assert path.read_bytes().decode("ascii") == f"key={line}\nnode.id=1\n"


def test_the_job_asks_the_servers_on_loopback_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    environment = _environment(Path("spark"), "http://127.0.0.1:1", "http://127.0.0.1:2")
    wanted = {
        "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1",
        "AWS_ENDPOINT_URL_GLUE": "http://127.0.0.1:2",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_EC2_METADATA_DISABLED": "true",
        # Independent of the caller's locale.
        "LC_ALL": "C.UTF-8",
    }
    assert {name: environment.get(name) for name in wanted} == wanted


def test_a_blank_in_the_platforms_path_splits_no_option_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("local.services.spark.job_class_path", lambda: "")
    options = job_settings(Path("/data lake"), ["-Da=/data lake/b"], "1g")["spark.driver.extraJavaOptions"]
    assert shlex.split(options)[-2:] == ["-Da=/data lake/b", "-Dderby.system.home=/data lake/scratch"]
