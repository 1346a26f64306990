"""The list of Hudi's keys matches the job's jars."""

import re
import struct
import zipfile
from collections.abc import Iterator

import pytest

from local.setup.jars import jar_folder
from spark_jobs.options.keys import OURS
from spark_jobs.options.table_settings import NUMBERS, WORDS, hudis

JARS = ("hudi-spark3.5-bundle_2.12-0.15.0.jar", "hudi-aws-0.15.0.jar")
KEY = re.compile(rb"hoodie\.[A-Za-z0-9_.\-]+[A-Za-z0-9_]")
STREAMERS = ("hoodie.streamer", "hoodie.deltastreamer")
# Bytes of a constant's entry by its tag (Java's class file format); those of 8 bytes take two places.
SIZES = {7: 3, 8: 3, 16: 3, 19: 3, 20: 3, 15: 4, 5: 9, 6: 9}


def texts(content: bytes) -> Iterator[bytes]:
    """The strings among a class file's constants."""
    (count,) = struct.unpack(">H", content[8:10])
    at, index = 10, 1
    while index < count:
        tag = content[at]
        if tag == 1:
            (length,) = struct.unpack(">H", content[at + 1 : at + 3])
            yield content[at + 3 : at + 3 + length]
            at += 3 + length
        else:
            at += SIZES.get(tag, 5)
        index += 2 if tag in (5, 6) else 1


@pytest.mark.integration
def test_the_list_is_what_the_jars_name() -> None:
    found = set()
    for jar in JARS:
        with zipfile.ZipFile(jar_folder("spark") / jar) as archive:
            for name in archive.namelist():
                if name.startswith("org/apache/hudi") and b"hoodie." in (content := archive.read(name)):
                    is_class = name.endswith(".class")
                    found |= {text.decode() for text in texts(content) if KEY.fullmatch(text)} if is_class else set()
    assert hudis() == {key for key in found if not key.startswith(STREAMERS)}


# The classes of WORDS' values, by key.
ENUMERATIONS = {
    "hoodie.index.type": "index/HoodieIndex$IndexType",
    "hoodie.index.bucket.engine": "index/HoodieIndex$BucketIndexEngineType",
    "hoodie.storage.layout.type": "table/storage/HoodieStorageLayout$LayoutType",
    "hoodie.write.markers.type": "common/table/marker/MarkerType",
    "hoodie.write.concurrency.mode": "common/model/WriteConcurrencyMode",
    "hoodie.cleaner.policy": "common/model/HoodieCleaningPolicy",
    "hoodie.cleaner.policy.failed.writes": "common/model/HoodieFailedWritesCleaningPolicy",
    "hoodie.compact.inline.trigger.strategy": "table/action/compact/CompactionTriggerStrategy",
    "hoodie.bulkinsert.sort.mode": "execution/bulkinsert/BulkInsertSortMode",
}


@pytest.mark.integration
@pytest.mark.parametrize("key", WORDS)
def test_the_words_are_what_hudi_takes(key: str) -> None:
    with zipfile.ZipFile(jar_folder("spark") / JARS[0]) as archive:
        found = set(texts(archive.read(f"org/apache/hudi/{ENUMERATIONS[key]}.class")))
    assert {word.encode() for word in WORDS[key]} <= found


def test_only_known_keys_have_words_and_numbers() -> None:
    assert WORDS.keys() | NUMBERS.keys() <= hudis() | set(OURS)
