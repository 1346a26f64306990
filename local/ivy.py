"""Resolves Maven coordinates with the Ivy that comes inside PySpark, so that no Maven is needed."""

import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pyspark

from local.java import java_binary, trust_store_flags

MAVEN_NAMESPACE = "http://ant.apache.org/ivy/maven"
FILE_PATTERN = "[artifact]-[revision](-[classifier]).[ext]"


class IvyError(RuntimeError):
    """Ivy could not bring a coordinate; the message holds its last lines."""


@dataclass(frozen=True, kw_only=True)
class Dependency:
    """One Maven artifact to bring: `group:name:version[:extension:classifier]`, with what it needs or alone."""

    coordinate: str
    transitive: bool


def retrieve(
    dependencies: Iterable[Dependency],
    *,
    into: Path,
    work: Path,
    on_wait: Callable[[Path], None],
    exclude: Iterable[str],
) -> None:
    """Download `dependencies` into the folder `into`; `work` keeps Ivy's cache, so a second try goes on from it.

    `on_wait` is called about four times a second with the cache folder, to show progress.
    Raises IvyError when something can't be resolved or downloaded.
    """
    work.mkdir(parents=True, exist_ok=True)
    description, log, cache = work / "ivy.xml", work / "ivy.log", work / "cache"
    description.write_text(_ivy_xml(dependencies, exclude))
    command: list[str | Path] = [
        java_binary(), *trust_store_flags(), "-jar", _ivy_jar(), "-ivy", description, "-cache", cache,
        "-confs", "default", "-types", "jar", "bundle", "tar.gz", "-retrieve", into / FILE_PATTERN,
    ]  # fmt: skip
    with log.open("w") as output, subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as ivy:
        while True:
            try:
                code = ivy.wait(timeout=0.25)
                break
            except subprocess.TimeoutExpired:
                on_wait(cache)
    if code != 0:
        reasons = [line.strip() for line in log.read_text().splitlines() if "not found" in line or "ERROR" in line]
        raise IvyError(f"Ivy ended with {code}: {'; '.join(reasons[-3:]) or 'no reason given'}")


def _ivy_jar() -> Path:
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar")
    return jar


def _ivy_xml(dependencies: Iterable[Dependency], exclude: Iterable[str]) -> str:
    """Describe the dependencies in Ivy's own terms: its `master` is the artifact, `runtime` what that needs."""
    ElementTree.register_namespace("m", MAVEN_NAMESPACE)
    module = ElementTree.Element("ivy-module", version="2.0")
    ElementTree.SubElement(module, "info", organisation="local", module="platform")
    ElementTree.SubElement(ElementTree.SubElement(module, "configurations"), "conf", name="default")
    listed = ElementTree.SubElement(module, "dependencies")
    for dependency in dependencies:
        _add(listed, dependency)
    for name in exclude:
        ElementTree.SubElement(listed, "exclude", module=name)
    return ElementTree.tostring(module, encoding="unicode")


def _add(listed: ElementTree.Element, dependency: Dependency) -> None:
    group, name, version, *special = dependency.coordinate.split(":")
    wanted = "master,compile,runtime" if dependency.transitive else "master"
    element = ElementTree.SubElement(listed, "dependency", org=group, name=name, rev=version)
    if not special:
        element.set("conf", f"default->{wanted}")
        return
    extension, classifier = special
    element.set("conf", "default->*")
    element.set("transitive", "false")
    artifact = ElementTree.SubElement(element, "artifact", name=name, type=extension, ext=extension)
    artifact.set(f"{{{MAVEN_NAMESPACE}}}classifier", classifier)
