"""Reads, writes and lists files through Hadoop's FileSystem, for paths that Python can't open itself."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.errors import SettingsError

_CHUNK = 1 << 20


class Hadoop:
    """Hadoop's file systems, as configured for a Spark session."""

    def __init__(self, spark: SparkSession) -> None:
        self.jvm: Any = spark._jvm
        self.configuration: Any = spark._jsc.hadoopConfiguration()

    def exists(self, path: str) -> bool:
        """Tell whether a file or folder is there."""
        return bool(self.system(path).exists(self._path(path)))

    def read_text(self, path: str) -> str:
        """Return a file's text (UTF-8)."""
        stream = self.system(path).open(self._path(path))
        try:
            return bytes(self.jvm.org.apache.commons.io.IOUtils.toByteArray(stream)).decode()
        finally:
            stream.close()

    def write_text(self, path: str, text: str) -> None:
        """Write a file's text (UTF-8), replacing what is there."""
        stream = self.system(path).create(self._path(path), True)
        try:
            content = text.encode()
            for start in range(0, len(content), _CHUNK):
                stream.write(content[start : start + _CHUNK])
        finally:
            stream.close()

    def delete(self, path: str) -> None:
        """Remove a folder with all that is in it; nothing happens when it isn't there."""
        self.system(path).delete(self._path(path), True)

    def sizes_in(self, path: str) -> dict[str, int]:
        """Return names and bytes of what is directly in a folder; empty when it isn't there."""
        if not self.exists(path):
            return {}
        statuses = self.system(path).listStatus(self._path(path))
        return {str(status.getPath().getName()): int(status.getLen()) for status in statuses}

    def files_below(self, path: str) -> Iterator[tuple[str, int, int, str | None]]:
        """Yield path, bytes, modification time in ms and ETag (where there are such) of all files below a folder."""
        if not self.exists(path):
            return
        files = self.system(path).listFiles(self._path(path), True)
        etag_source = self.jvm.java.lang.Class.forName("org.apache.hadoop.fs.EtagSource")
        while files.hasNext():
            status = files.next()
            etag = status.getEtag() if etag_source.isInstance(status) else None
            yield str(status.getPath().toString()), status.getLen(), status.getModificationTime(), etag

    def s3_client_arguments(self) -> dict[str, Any]:
        """Return boto3 client arguments for the endpoint that s3a uses; empty for AWS itself."""
        endpoint = self.configuration.get("fs.s3a.endpoint")
        if not endpoint:
            return {}
        with_scheme = endpoint if "://" in endpoint else f"https://{endpoint}"
        region = self.configuration.get("fs.s3a.endpoint.region")
        return {"endpoint_url": with_scheme} | ({"region_name": region} if region else {})

    def system(self, path: str) -> Any:
        """Return the FileSystem that a path lies in."""
        return self._path(path).getFileSystem(self.configuration)

    def _path(self, path: str) -> Any:
        return self.jvm.org.apache.hadoop.fs.Path(path)


def read_text(path: str, spark: SparkSession) -> str:
    """Return the text of a local file, or of one that only Hadoop can reach; SettingsError when it can't be read."""
    local = Path(path.removeprefix("file://"))
    if ("://" not in path or path.startswith("file://")) and local.is_file():
        return local.read_text()
    hadoop = Hadoop(spark)
    if not hadoop.exists(path):
        raise SettingsError(f"{path}: no such file")
    return hadoop.read_text(path)
