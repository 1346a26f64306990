"""Finds buckets with two file groups, which Hudi 0.15 can never write to again.

Two writers that put the first rows into a bucket at the same moment leave such a pair; so does a second bulk insert.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any


def doubled(jvm: Any, client: Any, partitions: Iterable[str]) -> list[str]:
    """Return the buckets, as `partition/number`, of which these partitions of a table have more than one file group.

    `client` is the table's HoodieTableMetaClient. Raises what the file system raises.
    """
    context = jvm.org.apache.hudi.common.engine.HoodieLocalEngineContext(client.getStorageConf())
    views = jvm.org.apache.hudi.common.table.view.FileSystemViewManager
    metadata = jvm.org.apache.hudi.common.config.HoodieMetadataConfig.newBuilder().enable(False).build()
    view = views.createInMemoryFileSystemView(context, client, metadata)
    try:
        found = Counter(
            f"{partition}/{file_group.getFileGroupId().getFileId()[:8]}".lstrip("/")
            for partition in partitions
            for file_group in view.getAllFileGroups(partition).toArray()
            if file_group.getLatestFileSlice().isPresent()
        )
    finally:
        view.close()
    return sorted(bucket for bucket, count in found.items() if count > 1)
