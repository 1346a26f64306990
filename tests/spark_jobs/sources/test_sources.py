"""Roots, unreadable files and odd field names through a real job: it reports each, and none stops it for good."""

import bz2
import gzip
import json
import re
from pathlib import Path

import pytest

from spark_jobs.errors import QuarantineLimitError, SettingsError
from spark_jobs.options import keys
from tests.cases import long
from tests.spark_jobs.events import TOPIC, as_lines, event
from tests.spark_jobs.lake import Lake

pytestmark = pytest.mark.integration
ROOT = "hoodie.streamer.source.dfs.root"
# Names of columns that the job adds internally, and of columns that Spark would add.
OURS = (
    *("line", "origin", "block", "number", "tie", "blank", "reason", "unknown", "placeholders", "deleted", "row"),
    *("_wire", "_text", "_others", "_whole", "_corrupt_line", "_corrupt_record", "_event_key", "_rank", "_stored"),
    *("_keys", "_own", "_twice", "_given", "_specials", "_new", "_before", "_at", "_is_event", "newer"),
    *("_restored_products", "deleted_at", "value", "_metadata", "events", "bad", "deletes", "newest_ms"),
)


def test_every_way_to_write_a_local_root_works_and_none_is_silent(lake: Lake) -> None:
    lake.land(event(1, 10, "c"))
    for root in (f"file:{lake.landing}", f"file://{lake.landing}", f"{lake.landing}/"):
        lake.extra = {ROOT: root}
        batch = lake.job()._source.next_batch(None)
        assert batch is not None, root
        [origin] = [row["origin"] for row in batch.lines().select("origin").collect()]
        assert batch.name_of(origin) == f"{TOPIC}/0/000000000000_1_2.json"
    for root, message in [
        (f"file:{lake.landing}/nothing", "no such folder$"),
        (f"{lake.landing}/dem*", "no such folder; a pattern has no meaning here"),
        ("s3:/landing/cdc", "no bucket; write it as s3://bucket/folder"),
        ("nothing://a/b", 'No FileSystem for scheme "nothing"'),
    ]:
        lake.extra = {ROOT: root}
        with pytest.raises(SettingsError, match=message):
            lake.job().run_batch()


def test_a_file_that_cannot_be_read_goes_to_quarantine_whole(lake: Lake) -> None:
    whole = gzip.compress(as_lines([event(number, 10, "c") for number in range(100)]).encode())
    folder = lake.landing / TOPIC / "0"
    folder.mkdir(parents=True)
    broken = {
        "truncated.json.gz": whole[: len(whole) // 2],
        "text.json.gz": as_lines([event(1, 1)]).encode(),
        "text.json.bz2": b"no bzip2",
        "truncated.json.bz2": bz2.compress(b"{}" * 1000)[:20],
        "text.json.deflate": b"no deflate",
        "text.json.snappy": b"no snappy at all",
        "text.json.lz4": b"no lz4 at all",
    }
    for name, content in broken.items():
        (folder / name).write_bytes(content)
    (folder / "whole.json.gz").write_bytes(whole)
    (folder / "whole.json.bz2").write_bytes(bz2.compress(as_lines([event(200, 10, "c")]).encode()))
    report = lake.run("{broken", event(201, 10, "c"))
    assert (report.files, report.quarantined, report.upserts, report.folded) == (10, 8, 102, 0)
    entries = [json.loads(path.read_text()) for path in sorted(lake.quarantine.rglob("*.reason.json"))]
    assert {Path(entry["origin"]).name: Path(entry["file"]).read_bytes() for entry in entries} == broken
    assert all(entry["reason"].startswith("unreadable: ") for entry in entries)
    assert (
        f"{TOPIC}/0/text.json.gz goes to quarantine whole: unreadable: java.io.IOException: not a gzip file" in lake.log
    )

    # An unreadable file alone makes a commit, too, and counts towards the limit.
    name = f"{TOPIC}/0/{500:012d}_1_2.json.gz"
    (lake.landing / name).write_bytes(b"no gzip")
    lake.extra = {"hoodie.streamer.quarantine.max.records": "0"}
    with pytest.raises(QuarantineLimitError, match=rf"1 of 1 events don't fit, such as {name}: unreadable"):
        lake.job().run_batch()
    lake.extra = {}
    assert lake.run().quarantined == 1
    assert lake.job().run_batch() is None


def sized(number: int, size: int) -> str:
    """A valid event of this many bytes."""
    text = json.dumps(event(number, 10, "c", customer_id=""))
    return text.replace('"customer_id": ""', f'"customer_id": "{"x" * (size - len(text))}"')


@pytest.mark.parametrize("end", ["\n", long("\r\n")])
def test_a_line_beyond_the_bound_goes_to_quarantine_and_the_others_are_read(lake: Lake, end: str) -> None:
    bound = 2000
    lake.extra = {keys.LINE_BYTES: str(bound)}
    folder = lake.landing / TOPIC / "0"
    folder.mkdir(parents=True)
    for first, ending in ((100, "json"), (200, "json.gz")):
        lines = {
            "within": [sized(first + number, bound) for number in range(9)],
            "one beyond": [sized(first + 10, bound), sized(first + 11, bound + 1), sized(first + 12, bound)],
            "far beyond": [*(sized(first + number, 9 * bound) for number in (20, 21)), sized(first + 22, bound), "{"],
            "only": [sized(first + 30, 3 * bound)],
        }
        for name, texts in lines.items():
            content = (end.join(texts) + ("" if name == "one beyond" else end)).encode()
            (folder / f"{name}.{ending}").write_bytes(gzip.compress(content) if ending == "json.gz" else content)
    report = lake.run()
    fitting = [*range(9), 10, 12, 22]
    assert sorted(lake.rows()) == [first + number for first in (100, 200) for number in fitting]
    whole = [entry for entry in lake.quarantined() if "file" in entry]
    for entry in whole:
        assert Path(entry["file"]).read_bytes() == (lake.landing / entry["origin"]).read_bytes()
        assert entry["reason"] == f"a line has more than 2000 bytes ({keys.LINE_BYTES}); the other lines are read"
    origins = {Path(entry["origin"]).name for entry in whole}
    assert origins - {"one beyond.json"} == {"far beyond.json", "only.json"}
    # A file whose long lines weren't read counts as one; the others' lines are cut, one by one.
    files = [path for path in lake.quarantine.rglob("*-*") if path.suffix in (".json", ".gz") and path.name[0] != "."]
    entries = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    texts = sorted(entry["text"] for entry in entries if "text" in entry)
    assert (len(whole) + len(texts), report.quarantined) == (9, 9)
    assert texts[:2] == ["{", "{"]
    sizes = [re.findall(r"… \((\d+) bytes, more than .*=2000\)$", text) for text in texts[2:]]
    assert sorted(int(size) for [size] in sizes)[-4:] == [2001, 6000, 18000, 18000]


@pytest.mark.long
def test_fields_may_have_the_names_of_our_own_columns(lake: Lake) -> None:
    unavailable = "__debezium_unavailable_value"
    texts = {name: f"text of {name}" for name in OURS}
    lake.run(event(1, 10, "c", **texts), event(2, 10, "c", **dict.fromkeys(OURS, "other")), "{broken")
    withheld = dict.fromkeys(("_event_key", "tie", "_stored"), unavailable)
    lake.run(event(1, 20, **{**texts, "tie": "later"}), event(2, 20, **{**texts, **withheld}))
    lake.run(event(3, 30, "d"), event(3, 25, **texts))
    rows = lake.rows()
    assert {name: rows[1][name] for name in OURS} == {**texts, "tie": "later"}
    assert {name: rows[2][name] for name in OURS} == {**texts, **dict.fromkeys(withheld, "other")}
    assert [entry["text"] for entry in lake.quarantined()] == ["{broken"]
