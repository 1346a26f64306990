"""Compiles our Connect worker classes with PySpark's Janino: `./lake dev generate worker-classes`."""

import base64
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from contract.text import UTF_8_FLAG
from local.setup.jars import jar_folder, unpack
from local.setup.java import java_binary, spark_home
from plugins.workers.connect_workers import ALL, PACKAGE

# Debezium's interfaces have static methods, which classes of an older version may not call.
JAVA_VERSION = 8


def compile_classes(sources: Sequence[Path]) -> dict[Path, bytes]:
    """Return each source's class, the same bytes each time; a source may need those before it.

    The JVM has verified them: each was instantiated once.
    """
    found: dict[Path, bytes] = {}
    with jvm() as gateway:
        former = None
        for source in sources:
            compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
            compiler.setDebuggingInformation(False, False, False)
            compiler.setSourceVersion(JAVA_VERSION)
            compiler.setTargetVersion(JAVA_VERSION)
            if former is not None:
                compiler.setParentClassLoader(former)
            compiler.cook(source.name, source.read_text(encoding="utf-8"))
            former, name = compiler.getClassLoader(), f"{PACKAGE}.{source.stem}"
            former.loadClass(name).getConstructors()[0].newInstance(gateway.new_array(gateway.jvm.Object, 0))
            found[source] = bytes(compiler.getBytecodes().get(name))
    return found


@contextmanager
def jvm() -> Iterator[Any]:
    """Start a JVM with the compiler, Kafka Connect and Debezium."""
    spark, kafka = spark_home() / "jars", jar_folder("kafka")
    [release] = jar_folder("debezium").glob("debezium-connector-postgres-*-plugin.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(release) as archive:
            unpack(archive, Path(folder))
        compilers = [*spark.glob("janino-*.jar"), *spark.glob("commons-compiler-*.jar")]
        jars = [*compilers, *sorted(kafka.glob("*.jar")), *sorted(Path(folder).rglob("*.jar"))]
        with java_gateway(":".join(map(str, jars))) as gateway:
            yield gateway


@contextmanager
def java_gateway(class_path: str = "", flags: Sequence[str] = (UTF_8_FLAG,)) -> Iterator[Any]:
    java = str(java_binary())
    port = launch_gateway(classpath=class_path, java_path=java, javaopts=list(flags), die_on_exit=True)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
    try:
        yield gateway
    finally:
        gateway.shutdown()


def main() -> None:
    """Write them as text, the form in which a plugin's files travel."""
    compiled = compile_classes([each.source for each in ALL])
    for each in ALL:
        each.compiled.write_bytes(base64.b64encode(compiled[each.source]) + b"\n")
