"""What templates are compared with: the snapshots that were reviewed last, in a git repository of the test's own."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from operate.diff import reviewed
from operate.diff.comparison import changes
from operate.errors import OperateError
from settings.load import load
from tests.operate.diff.conftest import lines
from tests.operate.diff.repository import Repository

DEV, PROD = load("dev"), load("prod")


def templates(topic: str, name: str = "prod") -> dict[str, dict[str, object]]:
    properties = {"DisplayName": topic, "TopicName": f"{name}-cdc-lake"}
    return {f"{name}-cdc-lake-lake": {"Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": properties}}}}


def commit(repository: Repository, topic: str) -> None:
    for environment in (DEV, PROD):
        repository.renew(environment, templates(topic, environment.name))
    repository.commit()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    found = Repository(tmp_path, monkeypatch)
    commit(found, "as reviewed")
    return found


def said(topic: str, against: str | None = None) -> str:
    """What the comparison says of a topic's name, and with what it compares."""
    found = changes(PROD, templates(topic), against=against)
    return (
        f"{found.base.partition(' (')[0]}: {' '.join(lines(found, 'Values that the gate judges')).partition('): ')[2]}"
    )


def test_a_branch_is_compared_with_where_it_left_main_although_it_renews_the_snapshots(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "-b", "branch")
    commit(repository, "dangerous")
    assert said("dangerous") == "where HEAD leaves main: DisplayName as reviewed → dangerous"
    repository.git("update-ref", "refs/remotes/origin/main", "main")
    assert said("dangerous") == "where HEAD leaves origin/main: DisplayName as reviewed → dangerous"


def test_a_tag_says_what_was_reviewed_last_and_a_named_revision_comes_first(repository: Repository) -> None:
    repository.git("tag", "reviewed-prod")
    commit(repository, "first")
    commit(repository, "second")
    assert said("second") == "reviewed-prod: DisplayName as reviewed → second"
    assert said("second", "HEAD~1") == "HEAD~1: DisplayName first → second"
    repository.git("tag", "--force", "reviewed-prod")
    assert said("second") == "reviewed-prod: "
    repository.git("tag", "--delete", "reviewed-prod")
    repository.git("tag", "reviewed-dev")
    assert said("third") == "where HEAD leaves main: DisplayName second → third"


def test_names_of_the_environments_are_those_of_the_revision(repository: Repository) -> None:
    def template(account: str) -> dict[str, object]:
        return {"Resources": {"Topic": {"DisplayName": account}}}

    path, there = (repository.folder / name for name in ("environments/dev.toml", "tests/snapshots"))
    path.write_text(path.read_text().replace(f'"{DEV.account}"', '"333333333333"'))
    (there / "dev" / "lake.json").write_text(json.dumps(template("333333333333")))
    (there / "prod" / "lake.json").write_text("{}")
    repository.commit()
    assert reviewed.read(PROD, reviewed.revision("prod", "HEAD")) == {"lake": template(PROD.account)}


def without_main(repository: Repository) -> None:
    repository.git("branch", "--move", "other")


def without_what_main_has(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "--orphan", "other")
    commit(repository, "another beginning")


def shallow(repository: Repository) -> None:
    (repository.folder / ".git" / "shallow").write_text(repository.git("rev-parse", "HEAD"))
    without_main(repository)


def without_snapshots(repository: Repository) -> None:
    repository.git("rm", "--quiet", "-r", "tests/snapshots/prod")
    repository.git("commit", "--quiet", "--message", "none of prod")


def without_any(repository: Repository) -> None:
    repository.git("rm", "--quiet", "-r", "tests")
    repository.git("commit", "--quiet", "--message", "none")


def broken(repository: Repository) -> None:
    (repository.folder / "tests" / "snapshots" / "prod" / "lake.json").write_text("<<<<<<< HEAD")
    repository.git("commit", "--quiet", "--all", "--message", "broken")


def without_a_repository(repository: Repository) -> None:
    shutil.rmtree(repository.folder / ".git")


@pytest.mark.parametrize(
    ("change", "against", "reason"),
    [
        (lambda _: None, None, "HEAD is on the main branch, and nothing differs from its own snapshots"),
        (without_main, None, "there is neither a tag reviewed-prod nor a branch main"),
        (shallow, None, r"nor a branch main \(this clone is shallow: `git fetch --unshallow --tags` gets the rest\)"),
        (without_what_main_has, None, "HEAD and main have no commit in common"),
        (lambda _: None, "nowhere", "git knows no revision nowhere"),
        (lambda _: None, "--all", "git knows no revision --all"),
        (without_snapshots, "HEAD", r"HEAD \(\w{7}\) has no tests/snapshots/prod"),
        (without_any, None, r"where HEAD leaves main \(\w{7}\) has no tests/snapshots or no environments"),
        (broken, "HEAD", r"the snapshots of HEAD \(\w{7}\) can't be read: tests/snapshots/prod/lake.json: Expecting"),
        (without_a_repository, None, "git says: fatal: not a git repository"),
    ],
)
def test_with_nothing_to_compare_with_one_line_says_why(
    repository: Repository, change: Callable[[Repository], None], against: str | None, reason: str
) -> None:
    change(repository)
    with pytest.raises(OperateError, match=f"^not compared: .*{reason}.*; give --against REVISION") as refused:
        changes(PROD, templates("as reviewed"), against=against)
    assert len(str(refused.value).splitlines()) == 1


def test_git_that_isnt_there_is_one_line(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository.folder))
    with pytest.raises(OperateError, match=r"^not compared: git isn't installed; give --against REVISION"):
        changes(PROD, {})
