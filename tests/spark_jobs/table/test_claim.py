"""One job per table: who gets the claim, who is refused, and how the next one continues after a death."""

import fcntl
import json
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from unittest.mock import Mock

import boto3
import pytest
from botocore.response import StreamingBody
from botocore.stub import ANY, Stubber

from spark_jobs.errors import ConcurrentWriterError
from spark_jobs.table import claim
from spark_jobs.table.claim import Claim, LocalClaims, S3Claims


class Jobs:
    """Claims of one table with a clock that advances as they wait."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = LocalClaims(folder)
        self.now = 0.0
        self.log: list[str] = []
        self.claims: list[Claim] = []

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        return False

    def new(self) -> Claim:
        stop = threading.Event()
        stop.wait = self.wait  # type: ignore[method-assign,assignment]
        made = Claim(self.store, "s3://lake/t", log=self.log.append, stop=stop, clock=lambda: self.now)
        self.claims.append(made)
        return made

    def holder(self) -> dict[str, object]:
        [path] = self.folder.glob("[0-9]*.json")
        found: dict[str, object] = json.loads(path.read_text())
        return found | {"number": int(path.stem)}

    def texts(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.folder.glob("[0-9]*.json")}

    def do(self, *steps: str) -> None:
        """Take a claim, end the newest job, or remove all claims."""
        for step in steps:
            if step == "take":
                self.new().acquire()
            elif step == "end":
                self.claims[-1].release()
            else:
                shutil.rmtree(self.folder)

    def change(self, **entries: object) -> None:
        [path] = self.folder.glob("[0-9]*.json")
        path.write_text(json.dumps(json.loads(path.read_text()) | entries))


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = Jobs(tmp_path / "claims")
    yield made
    for one in made.claims:
        one.release()


def dies(job: Claim) -> None:
    """End a job like kill -9: the kernel unlocks its file, nothing else happens."""
    job._ended.set()
    assert job._lock is not None
    fcntl.flock(job._lock, fcntl.LOCK_UN)


def test_a_second_job_is_refused_while_the_first_one_lives(jobs: Jobs) -> None:
    jobs.new().acquire()
    with pytest.raises(
        ConcurrentWriterError, match=r"t is being written by another job \(process \d+ on .*\): run one"
    ):
        jobs.new().acquire()
    assert jobs.now < 15
    jobs.claims[0].check()


def test_the_next_job_goes_on_at_once_after_a_death_and_after_an_end(jobs: Jobs) -> None:
    first, second, third = jobs.new(), jobs.new(), jobs.new()
    first.acquire()
    dies(first)
    second.acquire()
    second.release()
    third.acquire()
    assert (jobs.now, jobs.holder()["number"], jobs.log) == (0, 3, [])


# What other jobs, or a user, may do meanwhile.
MEANWHILE = [["take"], ["take", "end", "take"], ["remove"], ["remove", "take"]]


@pytest.mark.parametrize("steps", MEANWHILE)
def test_a_job_that_lost_its_claim_stops_before_it_writes(jobs: Jobs, steps: list[str]) -> None:
    jobs.do("take", "end")
    frozen = jobs.new()
    frozen.acquire()
    dies(frozen)
    jobs.do(*steps)
    jobs.now += 31
    for _ in range(2):
        with pytest.raises(ConcurrentWriterError, match="another job has taken over"):
            frozen.check()
    before = jobs.texts()
    frozen.release()
    assert jobs.texts() == before
    for last in jobs.claims[2:][-1:]:
        last.check()


def test_a_job_that_froze_while_it_took_the_claim_tries_again(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    create, frozen = jobs.store.create, jobs.new()

    def late(name: str, text: str) -> bool:
        monkeypatch.setattr(jobs.store, "create", create)
        jobs.do("take", "end", "take")
        return create(name, text)

    monkeypatch.setattr(jobs.store, "create", late)
    with pytest.raises(ConcurrentWriterError, match="is being written by another job"):
        frozen.acquire()
    assert jobs.holder()["number"] == 2
    jobs.claims[-1].check()


def test_a_job_whose_claim_was_created_without_an_answer_takes_it(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    create, one = jobs.store.create, jobs.new()

    def unanswered(name: str, text: str) -> bool:
        monkeypatch.setattr(jobs.store, "create", create)
        create(name, text)
        raise TimeoutError

    monkeypatch.setattr(jobs.store, "create", unanswered)
    with pytest.raises(TimeoutError):
        one.acquire()
    one.acquire()
    assert (jobs.now, jobs.holder()["number"], jobs.log) == (0, 2, [])


def test_a_job_on_another_machine_has_a_lease_to_show_itself(jobs: Jobs) -> None:
    jobs.new().acquire()
    dies(jobs.claims[0])
    jobs.change(machine="elsewhere")
    jobs.new().acquire()
    assert 60 < jobs.now < 65
    assert "waiting to see whether the job before" in jobs.log[0]
    assert "is gone, its claim is taken over" in jobs.log[1]


def test_a_job_on_another_machine_that_renews_its_claim_lives(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs.new().acquire()
    jobs.change(machine="elsewhere")

    def wait(seconds: float) -> bool:
        jobs.now += seconds
        jobs.change(beats=7)
        return False

    monkeypatch.setattr(jobs, "wait", wait)
    with pytest.raises(ConcurrentWriterError, match="being written by another job"):
        jobs.new().acquire()
    assert jobs.now < 5


def test_a_stop_ends_the_wait_for_a_claim(jobs: Jobs) -> None:
    jobs.folder.mkdir()
    (jobs.folder / "000000000001.json").write_text('{"job": "process 1 on another machine"}')
    waiting, stop = jobs.new(), threading.Event()
    waiting.stop = stop
    stop.set()
    with pytest.raises(InterruptedError, match="told to stop while waiting for the claim on s3://lake/t"):
        waiting.acquire()
    assert (jobs.now, jobs.holder()["number"]) == (0, 1)
    assert jobs.log == ["s3://lake/t: waiting to see whether the job before (process 1 on another machine) still lives"]


def test_a_claim_cut_short_by_a_crash_is_waited_for_and_replaced(jobs: Jobs) -> None:
    jobs.folder.mkdir()
    (jobs.folder / "000000000041.json").write_text('{"id"')
    jobs.new().acquire()
    assert jobs.holder()["number"] == 42


def test_of_many_that_start_together_one_gets_the_claim(tmp_path: Path) -> None:
    store = LocalClaims(tmp_path)
    for number in range(20):
        name = f"{number:012d}.json"
        with ThreadPoolExecutor(8) as pool:
            created = list(pool.map(store.create, [name] * 8, map(str, range(8))))
        assert created.count(True) == 1
        assert store.read(name) == str(created.index(True))


def test_on_s3_a_claim_is_put_only_where_none_is() -> None:
    client = boto3.client("s3", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
    store = S3Claims(client, "lake", "_claims/t/")
    where = {"Bucket": "lake", "Key": "_claims/t/1.json"}
    with Stubber(client) as stub:
        # The last is its own: the answer to its first request was lost.
        for status, code, there in (
            (412, "PreconditionFailed", b"another"),
            (409, "ConditionalRequestConflict", b"another"),
            (412, "PreconditionFailed", b"text"),
        ):
            stub.add_client_error(
                "put_object", code, http_status_code=status, expected_params={**where, "Body": ANY, "IfNoneMatch": "*"}
            )
            stub.add_response("get_object", {"Body": StreamingBody(BytesIO(there), len(there))}, where)
            assert store.create("1.json", "text") == (there == b"text")
        stub.add_client_error("get_object", "NoSuchKey", http_status_code=404, expected_params=where)
        assert store.read("1.json") is None
        contents = [{"Key": f"_claims/t/{name}"} for name in ("12.json", "x", ".hidden.json", "7.json.part")]
        stub.add_response("list_objects_v2", {"Contents": contents}, {"Bucket": "lake", "Prefix": "_claims/t/"})
        assert Claim(store, "t", log=print)._highest() == 12
        stub.assert_no_pending_responses()


def test_an_outage_is_waited_for_and_told_once(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    first = jobs.new()
    first.acquire()

    def failing() -> list[str]:
        raise OSError("S3 is away")

    monkeypatch.setattr(jobs.store, "names", failing)
    turns = iter([False, False, True])
    monkeypatch.setattr(first._ended, "wait", lambda _seconds: next(turns))
    first._keep()
    assert jobs.log == ["s3://lake/t: the claim can't be renewed: OSError: S3 is away"]
    assert claim.LEASE_SECONDS == 60


def test_a_claim_is_renewed_though_the_one_before_cannot_be_deleted(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs.do("take", "end")
    with monkeypatch.context() as patch:
        patch.setattr(jobs.store, "delete", Mock(side_effect=OSError("S3 is away")))
        jobs.do("take")
    assert jobs.claims[-1]._thread is not None
    jobs.do("end", "take")
    assert len(jobs.texts()) == 1
