import zipfile
from pathlib import Path

import pytest

from local.errors import PlatformError
from local.services.connect import LENSES_JAR, OWN_PLUGIN, Connect
from local.setup.jars import CACHE
from plugins import is_truncate

needs_debezium = pytest.mark.skipif(not (CACHE / "debezium").is_dir(), reason="the jars aren't there: run `make setup`")


def connect(folder: Path, lenses: Path | None = None) -> Connect:
    return Connect(folder, port=20_000, bootstrap_servers="127.0.0.1:20001", lenses=lenses)


def test_the_password_is_in_a_private_file_and_only_named_elsewhere(tmp_path: Path) -> None:
    reference = connect(tmp_path).password_reference("s3cret")
    path = tmp_path / "secrets" / "connector.properties"
    assert reference == f"${{file:{path}:password}}"
    assert path.read_text() == "password=s3cret\n"
    assert path.stat().st_mode & 0o077 == 0


def test_a_path_that_a_reference_cannot_hold_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(PlatformError, match=r"move the platform away from .*a:b"):
        connect(tmp_path / "a:b").password_reference("s3cret")


def test_the_worker_listens_on_loopback_and_reads_secrets_from_its_own_folder_only(tmp_path: Path) -> None:
    properties = connect(tmp_path).properties()
    assert properties["listeners"] == "http://127.0.0.1:20000"
    assert properties["config.providers.file.param.allowed.paths"] == str(tmp_path / "secrets")


@needs_debezium
def test_debezium_is_unpacked_once_and_another_version_goes(tmp_path: Path) -> None:
    worker = connect(tmp_path)
    (tmp_path / "plugins" / "debezium-connector-postgres-3.3.1.Final-plugin").mkdir(parents=True)
    worker.install_plugins()
    (plugin,) = (tmp_path / "plugins").glob("debezium-*")
    assert list(plugin.glob("**/debezium-connector-postgres-3*.jar"))
    before = plugin.stat().st_ctime_ns
    worker.install_plugins()
    assert plugin.stat().st_ctime_ns == before


@needs_debezium
def test_the_predicate_that_configurations_name_is_a_plugin_and_stays_the_same(tmp_path: Path) -> None:
    jars = []
    for _ in range(2):
        connect(tmp_path).install_plugins()
        (jar,) = (tmp_path / "plugins" / OWN_PLUGIN).iterdir()
        jars.append(jar.read_bytes())
    with zipfile.ZipFile(jar) as packed:
        assert packed.read(f"{is_truncate.PREDICATE.replace('.', '/')}.class").startswith(b"\xca\xfe\xba\xbe")
    assert jars[0] == jars[1]


@needs_debezium
@pytest.mark.parametrize("packed", [True, False])
def test_the_lenses_release_joins_the_plugins_and_leaves_them(tmp_path: Path, *, packed: bool) -> None:
    release = tmp_path / "release"
    jar = release / "kafka-connect-aws-s3-11.7.2" / "kafka-connect-aws-s3-11.7.2.jar"
    jar.parent.mkdir(parents=True)
    jar.write_bytes(b"jar")
    if packed:
        archive = tmp_path / "release.zip"
        with zipfile.ZipFile(archive, "w") as file:
            file.write(jar, jar.relative_to(release))
        release = archive
    worker = tmp_path / "worker"
    connect(worker, release).install_plugins()
    assert list((worker / "plugins" / "lenses").glob(f"**/{LENSES_JAR}"))
    assert connect(worker, release).properties()["plugin.discovery"] == "hybrid_warn"
    connect(worker).install_plugins()
    assert not (worker / "plugins" / "lenses").exists()


@needs_debezium
@pytest.mark.parametrize(
    ("content", "reason"), [(None, "neither a folder nor a zip"), (b"text", "neither a folder nor a zip")]
)
def test_a_wrong_lenses_path_is_one_line(tmp_path: Path, content: bytes | None, reason: str) -> None:
    release = tmp_path / "release.zip"
    if content is not None:
        release.write_bytes(content)
    with pytest.raises(PlatformError, match=f"LENSES_PLUGIN={release} is {reason}") as error:
        connect(tmp_path / "worker", release).install_plugins()
    assert len(str(error.value).splitlines()) == 1


@needs_debezium
def test_a_release_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "kafka-connect-jdbc.jar").touch()
    with pytest.raises(PlatformError, match="holds no kafka-connect-aws-s3"):
        connect(tmp_path / "worker", tmp_path / "release").install_plugins()
    assert not (tmp_path / "worker" / "plugins" / "lenses").exists()
