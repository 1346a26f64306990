"""Resolves Maven coordinates with the Ivy inside PySpark, so that no Maven is needed."""

import contextlib
import os
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from contract.errors import UserError
from contract.text import UTF_8_FLAG, UTF_8_LOCALE
from local.setup.java import java_binary, spark_home, trust_store_flags

MAVEN_NAMESPACE = "http://ant.apache.org/ivy/maven"
FLAT = "[artifact]-[revision](-[classifier]).[ext]"
BY_COORDINATE = "[organisation]/[module]/[revision]/([classifier]/)" + FLAT
# Without POMs and without the registry's own checksums (a lock has better ones) a jar costs two requests, not ten.
SETTINGS = """<ivysettings>
  <settings defaultResolver="central"/>
  <property name="ivy.checksums" value=""/>
  <resolvers><ibiblio name="central" m2compatible="true" usepoms="{poms}"/></resolvers>
</ivysettings>
"""


class IvyError(UserError):
    """Ivy couldn't fetch a coordinate; the message holds its last lines."""


@dataclass(frozen=True, kw_only=True)
class Dependency:
    """One Maven artifact to fetch: `group:name:version[:extension[:classifier]]`, with its dependencies or alone."""

    coordinate: str
    transitive: bool = False


def download(dependencies: Iterable[Dependency], *, into: Path, work: Path, on_wait: Callable[[Path], None]) -> None:
    """Download exactly these artifacts into the folder `into`, unverified: the caller has their hashes.

    `work` keeps Ivy's cache, so a second try resumes from it; `on_wait` is called about four times a second with the
    cache folder, to show progress. Raises IvyError when something can't be downloaded.
    """
    _run(_ivy_xml(dependencies), pattern=into / FLAT, work=work, on_wait=on_wait, poms=False)


def resolve(dependencies: Iterable[Dependency], *, into: Path, work: Path, exclude: Iterable[str]) -> None:
    """Download artifacts and their POM dependencies into `<group>/<module>/<version>/[<classifier>/]<file>`.

    `exclude` names modules to leave out. Raises IvyError when something can't be resolved or downloaded.
    """
    _run(
        _ivy_xml(dependencies, exclude), pattern=into / BY_COORDINATE, work=work, on_wait=lambda _cache: None, poms=True
    )


def _run(description: str, *, pattern: Path, work: Path, on_wait: Callable[[Path], None], poms: bool) -> None:
    work.mkdir(parents=True, exist_ok=True)
    ivy_xml, settings, log, cache = (work / name for name in ("ivy.xml", "ivysettings.xml", "ivy.log", "cache"))
    ivy_xml.write_text(description)
    settings.write_text(SETTINGS.format(poms=str(poms).lower()))
    command: list[str | Path] = [
        java_binary(), UTF_8_FLAG, *trust_store_flags(), "-jar", _ivy_jar(), "-settings", settings, "-ivy", ivy_xml,
        "-cache", cache, "-confs", "default", "-types", "jar", "bundle", "tar.gz", "-retrieve", pattern,
    ]  # fmt: skip
    environment = {**os.environ, **UTF_8_LOCALE}
    with (
        log.open("w") as output,
        subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment) as ivy,
    ):
        while ivy.poll() is None:
            on_wait(cache)
            with contextlib.suppress(subprocess.TimeoutExpired):
                ivy.wait(timeout=0.25)
    if ivy.returncode != 0:
        reasons = [line.strip() for line in log.read_text().splitlines() if "not found" in line or "ERROR" in line]
        raise IvyError(f"Ivy ended with {ivy.returncode}: {'; '.join(reasons[-3:]) or 'no reason given'}")


def _ivy_jar() -> Path:
    (jar,) = (spark_home() / "jars").glob("ivy-*.jar")
    return jar


def _ivy_xml(dependencies: Iterable[Dependency], exclude: Iterable[str] = ()) -> str:
    """Describe the dependencies in Ivy's own terms: its `master` is the artifact, `runtime` its dependencies."""
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
    element = ElementTree.SubElement(listed, "dependency", org=group, name=name, rev=version)
    if dependency.transitive:
        element.set("conf", "default->master,compile,runtime")
        return
    element.set("conf", "default->*")
    element.set("transitive", "false")
    if special:
        extension, *classifier = special
        artifact = ElementTree.SubElement(element, "artifact", name=name, type=extension, ext=extension)
        if classifier:
            artifact.set(f"{{{MAVEN_NAMESPACE}}}classifier", *classifier)
