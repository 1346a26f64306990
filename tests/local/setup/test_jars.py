"""Only the locked jars are accepted, and a damaged one is downloaded again."""

import contextlib
import fcntl
import hashlib
import io
import json
import os
import signal
import tarfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import psutil
import pytest

from contract.errors import CANNOT, INTERRUPTED, one_line_errors
from local.setup import jars
from local.setup.jars import unpack
from tests.waiting import PATIENCE_S, gone, wait_until

CONTENT = {"a-1.0.jar": b"first", "b-2.0.jar": b"second"}


def entry(content: bytes) -> dict[str, str | int]:
    return {"coordinate": "g:a:1.0", "sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A registry that serves `files` and counts requests. Ivy itself is tested by `make setup`."""
    served: dict[str, Any] = {"files": dict(CONTENT), "downloads": 0, "errors": []}

    def download(_dependencies: Any, *, into: Path, work: Path, on_wait: Callable[[Path], None]) -> None:
        work.mkdir(parents=True, exist_ok=True)
        on_wait(work)
        served["downloads"] += 1
        if served["errors"]:
            raise served["errors"].pop()
        for name, content in served["files"].items():
            (into / name).write_bytes(content)

    lock = tmp_path / "jars.lock"
    files = {name: entry(content) for name, content in CONTENT.items()}
    lock.write_text(json.dumps({"spark": files, "trino": files}))
    monkeypatch.setattr(jars, "CACHE", tmp_path / "jars")
    monkeypatch.setattr(jars, "JARS_LOCK", lock)
    monkeypatch.setattr(jars, "download", download)
    monkeypatch.setattr(jars, "wait_fixed", lambda _seconds: lambda _state: 0)
    return served


def fetch(*names: str) -> tuple[int, str]:
    with contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            with one_line_errors("jars"):
                jars.fetch(names)
        except SystemExit as ended:
            return int(str(ended.code)), said.getvalue()
    return 0, said.getvalue()


def test_what_is_missing_is_downloaded_once(registry: dict[str, Any]) -> None:
    with pytest.raises(jars.JarsError, match="run `make setup`"):
        jars.jar_folder("spark")
    assert fetch()[0] == 0
    assert (jars.jar_folder("spark") / "a-1.0.jar").read_bytes() == b"first"
    assert fetch()[0] == 0
    assert registry["downloads"] == 1


def test_what_only_some_need_is_brought_when_it_is_asked_for(registry: dict[str, Any]) -> None:
    fetch()
    with pytest.raises(jars.JarsError, match=r"run `\./lake dev test trino`"):
        jars.jar_folder("trino")
    with pytest.raises(jars.JarsError, match=r"run `\./lake dev bench job`"):
        jars.jar_folder("hoodie-streamer")
    assert fetch("trino")[0] == 0
    assert jars.jar_folder("trino").is_dir()
    assert registry["downloads"] == 2


@pytest.mark.parametrize("damage", ["changed", "removed", "added"])
def test_a_damaged_set_is_downloaded_again(registry: dict[str, Any], damage: str) -> None:
    fetch()
    folder = jars.jar_folder("spark")
    if damage == "removed":
        (folder / "a-1.0.jar").unlink()
    else:
        (folder / ("a-1.0.jar" if damage == "changed" else "evil.jar")).write_bytes(b"evil")
    assert fetch()[0] == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == CONTENT
    assert registry["downloads"] == 2


def test_another_hash_stops_with_both_and_leaves_nothing(registry: dict[str, Any], tmp_path: Path) -> None:
    registry["files"]["b-2.0.jar"] = b"not what was locked"
    code, output = fetch()
    assert code == CANNOT
    assert "jars: spark: the download isn't what jars.lock names: b-2.0.jar" in output
    assert str(entry(b"not what was locked")["sha256"]) in output
    assert str(entry(b"second")["sha256"]) in output
    assert not (tmp_path / "jars" / "spark").exists()
    assert not (tmp_path / "jars" / ".spark.partial").exists()


def test_a_registry_that_stumbles_is_asked_again_and_one_that_stays_away_is_one_line(registry: dict[str, Any]) -> None:
    error = jars.IvyError("Ivy ended with 1: a:b:1 not found")
    registry["errors"] = [error] * 3
    assert fetch() == (CANNOT, f"jars: {error}\n")
    registry["errors"] = [error]
    assert fetch()[0] == 0
    assert registry["downloads"] == 5


def test_an_interrupt_ends_every_download(registry: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def download(_dependencies: Any, *, work: Path, on_wait: Callable[[Path], None], **_places: Any) -> None:
        registry["downloads"] += 1
        time.sleep(0.5)  # by then we are waited for
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(50):
            on_wait(work)
            time.sleep(0.1)
        raise jars.IvyError("it was killed, too")

    monkeypatch.setattr(jars, "download", download)
    assert fetch() == (INTERRUPTED, "jars: interrupted\n")
    assert registry["downloads"] == 1


def test_ivy_ends_with_the_wait_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java, number = tmp_path / "java", tmp_path / "number"
    java.write_text(f"#!/bin/sh\necho $$ > {number}\nexec sleep 600\n")
    java.chmod(0o755)
    monkeypatch.setattr(jars, "java_binary", lambda: java)

    begun: list[psutil.Process] = []

    def interrupt(_cache: Path) -> None:
        if number.exists() and number.read_text().endswith("\n"):
            begun.append(psutil.Process(int(number.read_text())))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        jars.download([], into=tmp_path, work=tmp_path / "work", on_wait=interrupt)
    wait_until(lambda: gone(begun[0]))


def test_what_another_command_brings_is_waited_for(
    registry: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, looked = tmp_path / "jars" / "spark", Mock(wraps=jars.problems)
    folder.parent.mkdir()
    monkeypatch.setattr(jars, "problems", looked)
    with ThreadPoolExecutor(1) as pool, (folder.parent / ".lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        waits = pool.submit(jars.fetch)
        wait_until(lambda: looked.called)
        time.sleep(0.5)  # enough for a download
        folder.mkdir()
        for name, content in CONTENT.items():
            (folder / name).write_bytes(content)
        fcntl.flock(other, fcntl.LOCK_UN)
        waits.result(PATIENCE_S)
    assert registry["downloads"] == 0


def test_the_lock_names_every_declared_set() -> None:
    text = jars.JARS_LOCK.read_text()
    locked = json.loads(text)
    assert jars.lock_text(locked) == text
    assert set(locked) == {"kafka", "s3proxy", "spark", "debezium", "postgresql", "trino", "yarn", "hoodie-streamer"}
    for files in locked.values():
        assert all(len(entry["sha256"]) == 64 and entry["size"] > 0 for entry in files.values())
        assert all(entry["coordinate"].count(":") in (2, 3, 4) for entry in files.values())


@pytest.mark.parametrize(
    ("path", "coordinate"),
    [
        ("org.slf4j/slf4j-api/1.7.36/slf4j-api-1.7.36.jar", "org.slf4j:slf4j-api:1.7.36"),
        ("io.trino/server/476/server-476.tar.gz", "io.trino:server:476:tar.gz"),
        ("io.debezium/postgres/3.7.0/plugin/postgres-3.7.0-plugin.tar.gz", "io.debezium:postgres:3.7.0:tar.gz:plugin"),
    ],
)
def test_a_coordinate_is_read_off_where_ivy_put_the_file(path: str, coordinate: str) -> None:
    assert jars._coordinate(Path("staging") / path, Path("staging")) == coordinate


def test_ivy_is_told_what_comes_alone_and_what_with_its_dependencies() -> None:
    described = jars._ivy_xml(
        [
            jars.Dependency(coordinate="g:bundle:1"),
            jars.Dependency(coordinate="g:library:2", transitive=True),
            jars.Dependency(coordinate="g:plugin:3:tar.gz:plugin"),
            jars.Dependency(coordinate="g:release:4:zip"),
        ],
        exclude=["provided"],
    )
    assert 'name="bundle" rev="1" conf="default-&gt;*" transitive="false"' in described
    assert 'name="library" rev="2" conf="default-&gt;master,compile,runtime"' in described
    assert 'type="tar.gz" ext="tar.gz" m:classifier="plugin"' in described
    assert 'name="release" type="zip" ext="zip" />' in described
    assert '<exclude module="provided"' in described


FILE, HARD, SYMBOLIC, DEVICE = tarfile.REGTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE


@pytest.mark.parametrize(
    ("members", "left"),
    [
        ([("a/b.js", FILE, ""), ("c.js", HARD, "a/b.js")], ["a/b.js", "c.js"]),
        ([("a/../../b.js", FILE, ""), ("{outside}/b.js", FILE, ""), ("b.js", DEVICE, "")], []),
        ([("b.js", HARD, "../kept"), ("c.js", SYMBOLIC, "{outside}/kept")], []),
        # Through a link that leads out of the folder.
        ([("a.js", SYMBOLIC, ".."), ("a.js/b.js", FILE, "")], ["a.js/b.js"]),
    ],
)
def test_only_files_within_the_folder_are_made(
    tmp_path: Path, members: list[tuple[str, bytes, str]], left: list[str]
) -> None:
    (tmp_path / "kept").write_bytes(b"as it was")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, kind, link in members:
            member = tarfile.TarInfo(name.format(outside=tmp_path))
            member.type, member.linkname, member.mode = kind, link.format(outside=tmp_path), 0o4777
            member.size = len(b"new") if kind == FILE else 0
            tar.addfile(member, io.BytesIO(b"new"))
    folder = tmp_path / "folder"
    with tarfile.open(fileobj=io.BytesIO(packed.getvalue())) as tar:
        unpack(tar, folder)
    made = {path: path.read_bytes() for path in tmp_path.rglob("*") if not path.is_dir()}
    assert made == {tmp_path / "kept": b"as it was"} | {folder / name: b"new" for name in left}
    assert not [path for path in made if path.stat().st_mode & 0o7111]
