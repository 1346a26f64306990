"""One walk lists many tables' landing folders: nothing is missed, and idle tables cost next to nothing."""

import datetime as dt
import random
from typing import Any

import pytest

from spark_jobs.sources.listing import SharedListing
from tests.waiting import Clock

CHANGED = dt.datetime(2026, 11, 22, tzinfo=dt.UTC)


class Bucket:
    """A bucket with boto3's list_objects_v2, in pages like S3's."""

    class exceptions:  # noqa: N801  (boto3's name)
        class NoSuchBucket(Exception):  # noqa: N818
            pass

    def __init__(self, *keys: str, page: int = 1000) -> None:
        self.keys = set(keys)
        self.page = page
        self.requests = 0
        self.prefixes = set[str]()

    def list_objects_v2(self, *, Bucket: str, Prefix: str, StartAfter: str = "") -> dict[str, Any]:  # noqa: N803
        assert Bucket == "landing"
        self.requests += 1
        self.prefixes.add(Prefix)
        keys = sorted(key for key in self.keys if key.startswith(Prefix) and key > StartAfter)
        found = [{"Key": key, "Size": 1, "LastModified": CHANGED, "ETag": "e"} for key in keys[: self.page]]
        return {"Contents": found, "IsTruncated": len(keys) > self.page} if found else {}


def key(topic: str, last: int, partition: int = 0) -> str:
    return f"cdc/{topic}/{partition}/{last:012d}_1_2.json"


def name(last: int, partition: int = 0) -> str:
    return f"{partition}/{last:012d}_1_2.json"


def test_idle_tables_share_one_request() -> None:
    topics = [f"shop.public.t{number:03}" for number in range(100)]
    bucket, clock = Bucket(*(key(topic, last) for topic in topics for last in range(5))), Clock()
    listing = SharedListing(many=True, clock=clock)
    listers = [listing.lister(f"s3://landing/cdc/{topic}", bucket) for topic in topics]
    for lister in listers:
        lister.after({"0": name(4)})
    for clock.now in range(1, 61):
        bucket.requests = 0
        assert [lister.after({"0": name(4)}) for lister in listers] == [[]] * 100
        assert bucket.requests == 1


def test_what_is_consumed_is_jumped_over() -> None:
    topics = ["a", "b", "c"]
    bucket, clock = Bucket(*(key(topic, last) for topic in topics for last in range(5000))), Clock()
    listing = SharedListing(many=True, clock=clock)
    listers = {topic: listing.lister(f"s3://landing/cdc/{topic}", bucket) for topic in topics}
    for lister in listers.values():
        lister.after({"0": name(4999)})
    bucket.keys |= {key("b", 5000), key("unasked", 1), key("c", 3, partition=12)}
    clock.now, bucket.requests = 1, 0
    found = {topic: [file.name for file in lister.after({"0": name(4999)})] for topic, lister in listers.items()}
    assert found == {"a": [], "b": [name(5000)], "c": [name(3, partition=12)]}
    assert bucket.requests == 3


def test_an_answer_is_at_most_half_as_old_as_the_listers_last_question() -> None:
    bucket, clock = Bucket(key("a", 1)), Clock()
    listing = SharedListing(many=True, clock=clock)
    often, seldom = (listing.lister("s3a://landing/cdc/a", bucket) for _ in range(2))
    assert [file.path for file in often.after({})] == [f"s3a://landing/{key('a', 1)}"]
    seldom.after({})
    clock.now = 0.9
    often.after({})
    bucket.keys.add(key("a", 2))
    clock.now = 1.0
    assert (len(seldom.after({})), len(often.after({}))) == (1, 2)
    clock.now = 1.4
    assert len(seldom.after({})) == 2


def test_of_two_tables_of_one_folder_each_gets_what_it_lacks() -> None:
    bucket, clock = Bucket(*(key("a", last) for last in range(3000)), page=10), Clock()
    listing = SharedListing(many=True, clock=clock)
    ahead, behind = (listing.lister("s3://landing/cdc/a", bucket) for _ in range(2))
    ahead.after({"0": name(2999)})
    behind.after({"0": name(9)})
    clock.now = 1
    ahead.after({"0": name(2999)})
    assert {name(last) for last in range(10, 3000)} <= {file.name for file in behind.after({"0": name(9)})}


def test_any_walk_finds_all_that_is_new() -> None:
    rng = random.Random(7)
    for _ in range(200):
        topics = [rng.choice("abcxyz") + rng.choice(["", ".t", "-u", "0"]) for _ in range(4)]
        keys = [key(rng.choice(topics), rng.randrange(40), rng.choice([0, 1, 2, 10])) for _ in range(60)]
        bucket = Bucket(*keys, "cdc/.indexes/x.json", "cdc.json", "cdc/a.t/stray.json", page=rng.randint(1, 9))
        listing = SharedListing(many=rng.choice([True, False]), clock=(clock := Clock()))
        marks = {t: {str(p): name(rng.randrange(40), p) for p in rng.sample([0, 1, 2, 10], 2)} for t in topics}
        listers = {topic: listing.lister(f"s3://landing/cdc/{topic}", bucket) for topic in marks}
        for clock.now in (1, 2):
            for topic, lister in listers.items():
                lister.after(marks[topic])
        clock.now = 3
        for topic, lister in listers.items():
            inside = {key.removeprefix(f"cdc/{topic}/") for key in bucket.keys if key.startswith(f"cdc/{topic}/")}
            new = {one for one in inside if one > marks[topic].get(one.rpartition("/")[0], "")}
            assert {file.name for file in lister.after(marks[topic])} == new


@pytest.mark.parametrize(
    ("root", "many", "listed"),
    [
        ("s3://landing/cdc/a", True, "cdc/"),
        ("s3://landing/cdc/a", False, "cdc/a/"),
        ("s3://landing/cdc", True, "cdc/"),
        ("s3://landing/cdc", False, "cdc/"),
        ("s3://landing", True, ""),
        ("s3://landing", False, ""),
    ],
)
def test_a_walk_lists_no_more_than_a_role_that_may_list_its_pipelines_folder(
    root: str, many: bool, listed: str
) -> None:
    bucket, clock = Bucket(*(key("a", last, partition) for last in range(20) for partition in (0, 1)), page=3), Clock()
    listing = SharedListing(many=many, clock=clock)
    listing.lister("s3://landing/cdc/b", bucket).after({})  # another walk, or the same one
    bucket.prefixes.clear()
    lister = listing.lister(root, bucket)
    assert len(lister.after({})) == 40
    clock.now = 1
    within = f"{root.removeprefix('s3://landing').lstrip('/')}/".lstrip("/")
    consumed = [key("a", 18), key("a", 19, 1)]
    marks = {name.removeprefix(within).rpartition("/")[0]: name.removeprefix(within) for name in consumed}
    assert [file.path for file in lister.after(marks)] == [f"s3://landing/{key('a', 19)}"]
    assert bucket.prefixes == {listed}
