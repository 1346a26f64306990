"""For which resources of a template a table's job runs: objects beside the stop files, since EMR can't tag a step.

Below the stop prefix `owners/<name>/` holds an object per custom resource that wants the job, with its request. S3
shows each write to the next read (its user guide, "Amazon S3 data consistency model").
"""

import json
from collections.abc import Mapping
from typing import Any

from stacks.handlers.framework import HASH_DIGITS, sha256_of


class Owners:
    """The owners of the steps that `wanted` (a request) names."""

    def __init__(self, s3: Any, wanted: Mapping[str, Any]) -> None:
        self._s3 = s3
        self._bucket = wanted["stopBucket"]
        self._prefix = f"{wanted['stopPrefix']}owners/{wanted['name']}/"

    def enter(self, owner: str, wanted: Mapping[str, Any]) -> None:
        """Say that `owner` wants this job, and how."""
        body = json.dumps(wanted, sort_keys=True).encode()
        self._s3.put_object(Bucket=self._bucket, Key=self._key(owner), Body=body)

    def has(self, owner: str) -> bool:
        """Whether `owner` wants this job, and hasn't been deleted since."""
        return self._key(owner) in self._keys()

    def other_owner_request(self, owner: str) -> dict[str, Any] | None:
        """The request of another owner: of a construct that was renamed, the one that stays."""
        key = next((key for key in self._keys() if key != self._key(owner)), None)
        if key is None:
            return None
        request: dict[str, Any] = json.loads(self._s3.get_object(Bucket=self._bucket, Key=key)["Body"].read())
        return request

    def leave(self, owner: str) -> None:
        """`owner` doesn't want it any more."""
        self._s3.delete_object(Bucket=self._bucket, Key=self._key(owner))

    def _key(self, owner: str) -> str:
        return self._prefix + sha256_of(owner)[:HASH_DIGITS]

    def _keys(self) -> list[str]:
        found = self._s3.list_objects_v2(Bucket=self._bucket, Prefix=self._prefix)
        return [entry["Key"] for entry in found.get("Contents", [])]
