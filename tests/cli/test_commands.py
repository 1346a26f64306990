"""`./lake`'s groups, options, exit statuses, help and completion."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock, call

import psycopg2
import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

from cli import prepare, shared
from cli.__main__ import app, main
from contract.errors import CANNOT, INTERRUPTED, NO, USAGE
from contract.states import Word
from local.platform import command as up
from local.problem import Problem
from local.state.collect import Collector, PipelineState
from local.state.word import State
from operate import synth
from operate.diff import snapshots
from settings.environment import Environment
from stacks.gate.template import App as Templates

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"pyspark", "boto3", "botocore", "aws_cdk", "psycopg2", "confluent_kafka", "pyarrow", "nicegui"}
ODD = """public."a b" $1 $(HOME) it's"""
# Accidentally set in a shell, or left by earlier commands.
SHELL = dict.fromkeys("ENV NAME TABLE TABLES PIPELINE SQL WHERE DSN SCHEMA HOW FROM DRY".split(), "prod")  # noqa: SIM905


def tree(group: Any = None) -> dict[str, Any]:
    """All commands by their words."""
    found: dict[str, Any] = {}
    root: Any = group or get_command(app)
    for name, command in root.commands.items():
        below = tree(command) if hasattr(command, "commands") else {"": command}
        found |= {f"{name} {words}".strip(): each for words, each in below.items()}
    return found


def run(words: str | list[str], **options: Any) -> Result:
    """Run `./lake` with these words."""
    return CliRunner().invoke(app, words, prog_name="lake", **options)


def test_an_option_means_the_same_everywhere() -> None:
    meant: dict[str, set[tuple[str, ...]]] = {}
    for command in tree().values():
        for option in command.params:
            for word in option.opts:
                meant.setdefault(word, set()).add((str(option.name), *sorted(option.opts)))
    for short, long in (("-p", "--pipeline"), ("-t", "--table"), ("-e", "--env")):
        assert {words[1:] for words in meant[long]} == {words[1:] for words in meant[short]} == {(long, short)}
    assert all(option.multiple for command in tree().values() for option in command.params if "-t" in option.opts)
    assert all(len(meant[word]) == 1 for word in ("--json", "--dry-run", "--yes", "--folder"))


def test_programs_get_json_where_they_want_it() -> None:
    with_json = {words for words, command in tree().items() if any("--json" in one.opts for one in command.params)}
    on_aws = {"aws review", "aws diff", "aws costs", "aws reconcile"}
    assert with_json == {"status", "reconcile", "query", "kafka topics", *on_aws}


def test_from_the_environment_come_the_pipeline_and_releases_alone() -> None:
    read = {str(one.envvar) for command in tree().values() for one in command.params if one.envvar}
    assert read == {"LAKE_PIPELINE", "LENSES_PLUGIN", "JDBC_PLUGIN"}


@pytest.mark.parametrize("words", ["--help", "aws deploy --help"])
def test_help_is_there_at_once(words: str) -> None:
    """0.3 s alone; the bound allows for a busy machine, but not for slow imports."""
    program = (
        "import sys, atexit, cli.__main__ as lake\n"
        f"atexit.register(lambda: print('loaded', *sorted(set(sys.modules) & {HEAVY!r})))\n"
        f"lake.app({words.split()!r}, prog_name='lake')\n"
    )
    started = time.process_time(), os.times().children_user
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "loaded"
    assert time.process_time() - started[0] + os.times().children_user - started[1] < 1.5


def test_every_command_has_an_example_that_parses() -> None:
    for words, command in tree().items():
        if not words.startswith("dev ") or words == "dev test":
            assert f"./lake {words}" in str(command.help), words


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands(monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    shown = run(["--show-completion", shell])
    assert shown.exit_code == 0
    assert f"_LAKE_COMPLETE=complete_{shell}" in shown.output
    words = {"_LAKE_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": "lake re", "COMP_WORDS": "lake re"}
    words |= {"COMP_CWORD": "1", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    done = run([], env=words)
    assert {"reconcile", "resnapshot"} <= set(done.output.replace('"', " ").replace(":", " ").split())


@pytest.mark.parametrize(
    "words",
    [
        *("nothing", "up --nothing", "demo films", "kafka tail --count 0", "kafka tail --from noon", "source describe"),
        *("aws diff --deployed --against main", "aws diff --deployed --set vpn.users=[]"),
        *("resnapshot -e dev --folder x", "query 'SELECT 1' --file x.sql", "query --json --format csv"),
        *("kafka tail orders -t orders", "kafka topics --all -t orders", "aws diff --against main --set vpn.users=[]"),
        *("resnapshot --where ''", "resnapshot --where=", "status -p ''", "query ''", "status --folder /tmp/\udcff"),
    ],
)
def test_what_isnt_taken_is_a_mistake_of_use(words: str) -> None:
    assert run(words).exit_code == USAGE


@pytest.mark.parametrize("problems", [(), (Problem(part="kafka", what="is dead"),)])
def test_status_answers_programs_too(
    monkeypatch: pytest.MonkeyPatch, problems: tuple[Problem, ...], tmp_path: Path
) -> None:
    asked: list[Any] = []

    def look(collector: Any, tables: Any) -> PipelineState:
        asked.append((collector._platform, tables))
        return PipelineState(state=State(word=Word.FAILING, reason=""), problems=problems)

    monkeypatch.setattr(up, "find_platform", lambda folder, pipeline: (folder, pipeline))
    monkeypatch.setattr(Collector, "look", look)
    words = ["status", "--folder", str(tmp_path), "-p", "mine", "-t", ODD, "-t", "b", "--json"]
    done = run(words, env=SHELL)
    assert done.exit_code == (NO if problems else 0)
    assert [one["part"] for one in json.loads(done.stdout)["problems"]] == [one.part for one in problems]
    assert asked == [((tmp_path, "mine"), [ODD, "b"])]


@pytest.fixture
def reviewed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Syntheses are as their snapshots: each takes seconds."""

    def synthesized(environment: Environment, _folder: Path) -> Any:
        templates = snapshots.read(environment)
        return SimpleNamespace(app=lambda of: Templates(settings=of, templates=templates))

    monkeypatch.setattr(prepare, "wheels", lambda: None)
    monkeypatch.setattr(synth, "synthesize", synthesized)


@pytest.mark.usefixtures("reviewed")
def test_a_shells_variables_steer_nothing_but_the_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    find = Mock(side_effect=OSError("found"))
    monkeypatch.setattr(up, "find_platform", find)
    for variables in ({}, {"LAKE_PIPELINE": "mine"}):
        done = run("reconcile", env=SHELL | variables)
        assert (done.exit_code, done.stderr) == (CANNOT, "reconcile: found\n")
    assert find.mock_calls == [call(None, None), call(None, "mine")]
    assert "dev costs about" in run("aws costs", env=SHELL).stdout
    assert "prod costs about" in run("aws costs --env prod", env=SHELL).stdout


@pytest.mark.usefixtures("reviewed")
def test_costs_are_figures_for_programs() -> None:
    found = json.loads(run("aws costs -e all --json --hours 20").stdout)
    assert {"dev", "prod", "sandbox"} <= {one["environment"] for one in found}
    assert all(one["hours_a_week"]["20"] < one["usd_a_month"] == one["hours_a_week"]["168"] for one in found)


def test_a_failed_make_ends_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "ROOT", Path("/nowhere"))
    with pytest.raises(SystemExit) as ended:
        prepare.node_modules()
    assert ended.value.code == CANNOT


@pytest.mark.parametrize("words", [["query", ODD], ["query", "-t", ODD, "--where it's"], []])
def test_the_script_hands_on_what_it_is_given(tmp_path: Path, words: list[str]) -> None:
    """From any folder, through a link, with make's stamp unchanged."""
    python = tmp_path / "at home" / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n")
    python.chmod(0o755)
    home = python.parents[2]
    for name in ("lake", "Makefile"):
        (home / name).write_bytes((ROOT / name).read_bytes())
    (home / "lake").chmod(0o755)
    for name in ("requirements-build.txt", "requirements.txt", "requirements-dev.txt", ".venv/.ready"):
        (home / name).touch()
    os.utime(home / ".venv" / ".ready", (time.time() + 10,) * 2)
    (tmp_path / "linked").symlink_to(home / "lake")
    done = subprocess.run(
        [tmp_path / "linked", *words], cwd=tmp_path, env=os.environ | SHELL, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == ["-m", "cli", *words]


def test_a_librarys_error_is_one_line_and_exit_3(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended, shared.one_line_errors("up"):
        raise psycopg2.OperationalError("postgres isn't ready\n")
    assert (ended.value.code, capsys.readouterr().err) == (CANNOT, "up: postgres isn't ready\n")


def test_a_mistake_of_ours_keeps_its_traceback_and_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: str) -> None:
        with shared.one_line_errors("up"):
            raise ZeroDivisionError

    monkeypatch.setattr("cli.__main__.app", fail)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == CANNOT
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("program", "streams", "status"),
    [
        ("from contract.errors import *\nwith one_line_errors('tail'):\n while True: print('x' * 1000)", "", 0),
        ("from local.console import say; say('a'); say('b'); sys.exit(7)", "", 7),
        ("from cli.__main__ import main; main()", "status --folder /none >&-", CANNOT),
        ("from cli.__main__ import main; main()", "source load <&-", CANNOT),
        ("import cli.__main__ as lake; lake.app = lambda **_: print('→'); lake.main()", "2>&1", 0),
    ],
    ids=["a closed pipe", "a closed pipe of the console", "no output", "no input", "another encoding"],
)
def test_streams_that_dont_work_change_no_answer(program: str, streams: str, status: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = ["sh", "-c", f"'{sys.executable}' -c \"import sys; {program}\" {streams}"]
    variables = os.environ | {"PYTHONIOENCODING": "latin-1"}
    out = subprocess.PIPE if streams else writer
    done = subprocess.run(command, cwd=ROOT, env=variables, stdout=out, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, len(done.stderr.splitlines()) < 2) == (status, True), done.stderr


@contextlib.contextmanager
def handled(number: int, handler: Any) -> Iterator[None]:
    """Have a signal handled like this, and afterwards as this process was started."""
    before = signal.signal(number, handler)
    try:
        yield
        assert signal.getsignal(number) is handler
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_every_signal_that_ends_a_command_unwinds_it(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    unwound = []

    def run() -> None:
        with shared.one_line_errors("up"):
            try:
                os.kill(os.getpid(), number)
                time.sleep(5)
            finally:
                unwound.append(number)

    with handled(number, signal.default_int_handler), pytest.raises(SystemExit) as ended:
        run()
    assert (ended.value.code, unwound) == (INTERRUPTED, [number])
    assert capsys.readouterr().err == "up: interrupted\n"


def test_what_nohup_has_ignored_stays_ignored() -> None:
    with handled(signal.SIGHUP, signal.SIG_IGN), shared.one_line_errors("up"):
        os.kill(os.getpid(), signal.SIGHUP)


def test_a_statement_that_isnt_text_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "query.sql"
    file.write_bytes("SELECT 'Größe'".encode("latin-1"))
    done = run(["query", "--file", str(file)])
    assert (done.exit_code, done.stderr) == (CANNOT, f"query: {file} isn't UTF-8 text (byte 10): save it as that\n")
