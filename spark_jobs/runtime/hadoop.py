"""Reads, writes and lists files through Hadoop's FileSystem, for paths that Python can't open itself."""

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from spark_jobs.errors import Log, SettingsError, first_line

_CHUNK = 1 << 20
_S3 = re.compile(r"s3[an]?:")
_S3_BUCKET = re.compile(r"s3[an]?://[^/]+")
_LOCAL = re.compile(r"file:/+")
# Not those of the file formats, which Spark's sources and writers use, nor what a client needs to reach HDFS.
_OF_PROGRAMS = (
    r"^((yarn|mapreduce)\.(?!input|output|file)|dfs\.(namenode|datanode|journalnode|qjournal|balancer|mover)\."
    r"(?!.*(address|kerberos))|hadoop\.(http|registry|zk)\.|ha\.|ipc\.(server\.|\[))"
)


def local_path(qualified: str) -> str | None:
    """Return the local path of a qualified one; None when it isn't on this machine."""
    return _LOCAL.sub("/", qualified, count=1) if _LOCAL.match(qualified) else None


class Hadoop:
    """Hadoop's file systems, as configured for a Spark session."""

    def __init__(self, spark: SparkSession) -> None:
        self.jvm: Any = spark._jvm
        self.configuration: Any = spark._jsc.hadoopConfiguration()

    def lighten(self) -> None:
        """Drop from the configuration what no task reads: each setting's origin, and defaults of Hadoop's programs.

        Hudi's tasks carry it, some 1,000 settings: each is compressed separately when a task is written, and again when
        it is read. Hadoop fills it again whenever it loads another of its files.
        """
        if self._contents is not None:
            origins, settings = (field.get(self.configuration) for field in self._contents)
            origins.keySet().clear()
            if settings is not None:
                settings.entrySet().removeAll(self._unread.entrySet())

    @cached_property
    def _contents(self) -> tuple[Any, Any] | None:
        """The configuration's own maps of origins and of settings; None where this Hadoop has other fields."""
        kind = self.jvm.java.lang.Class.forName("org.apache.hadoop.conf.Configuration")
        try:
            origins, settings = (kind.getDeclaredField(name) for name in ("updatingResource", "properties"))
        except Py4JJavaError:
            return None
        for field in (origins, settings):
            field.setAccessible(True)
        return origins, settings

    @cached_property
    def _unread(self) -> Any:
        """Defaults that only Hadoop's own programs read, as its files have them; HDFS's may be missing."""
        defaults = self.jvm.org.apache.hadoop.conf.Configuration(False)
        for file in ("core-default.xml", "hdfs-default.xml", "yarn-default.xml", "mapred-default.xml"):
            defaults.addResource(file)
        names = defaults.getValByRegex(_OF_PROGRAMS).keySet()
        assert self._contents is not None  # noqa: S101  (the caller has them)
        written = self._contents[1].get(defaults)
        written.keySet().retainAll(names)
        return written

    def qualified(self, path: str) -> str:
        """Return a path with scheme, authority and all its folders; SettingsError if Hadoop can't parse it."""
        if _S3.match(path):
            if not _S3_BUCKET.match(path):
                raise SettingsError(f"{path}: no bucket; write it as s3://bucket/folder")
            return path
        try:
            return str(self.system(path).makeQualified(self._path(path)).toString())
        except Exception as error:
            raise SettingsError(f"{path}: {first_line(error)}") from error

    def is_folder(self, path: str) -> bool:
        return self.exists(path) and bool(self.system(path).getFileStatus(self._path(path)).isDirectory())

    def exists(self, path: str) -> bool:
        return bool(self.system(path).exists(self._path(path)))

    def read_text(self, path: str) -> str:
        with closing(self.system(path).open(self._path(path))) as stream:
            return bytes(self.jvm.org.apache.commons.io.IOUtils.toByteArray(stream)).decode()

    def write_text(self, path: str, text: str) -> None:
        """Write a file's text (UTF-8), replacing an existing one."""
        content = text.encode()
        with closing(self.system(path).create(self._path(path), True)) as stream:
            for start in range(0, len(content), _CHUNK):
                stream.write(content[start : start + _CHUNK])

    def create_text(self, path: str, text: str) -> bool:
        """Write a file's text (UTF-8) unless it exists: then False. Atomic if the file system's creation is."""
        try:
            stream = self.system(path).create(self._path(path), False)
        except Py4JJavaError:
            if self.exists(path):
                return False
            raise
        with closing(stream):
            stream.write(text.encode())
        return True

    def copy(self, path: str, to: str) -> None:
        """Copy a file unchanged, replacing an existing one."""
        into = self.system(to).create(self._path(to), True)
        self.jvm.org.apache.hadoop.io.IOUtils.copyBytes(self._opened(path), into, self.configuration, True)

    def _opened(self, path: str) -> Any:
        """Open a file; a local one without Hadoop's checksums, whose own file doesn't allow every name."""
        system = self.system(path)
        return (system.getRawFileSystem() if local_path(path) else system).open(self._path(path))

    def why_unreadable(self, path: str) -> str | None:
        """Return why a compressed file can't be decompressed, or None; raises the errors of reading its bytes."""
        codecs = self.jvm.org.apache.hadoop.io.compress.CompressionCodecFactory(self.configuration)
        codec = codecs.getCodec(self._path(path))
        if codec is None:
            return None
        if path.endswith(".bz2") and self._begins(path, 3) != b"BZh":
            return "not a bzip2 file"  # Hadoop searches for a block without end, and treats the file as empty
        try:
            self._read_to_the_end(path, codec.createInputStream)
        except Py4JJavaError as error:
            reason = first_line(error)
        else:
            return None
        self._read_to_the_end(path, lambda stream: stream)
        return reason

    def _begins(self, path: str, count: int) -> bytes:
        with closing(self._opened(path)) as stream:
            return bytes(byte for _ in range(count) if (byte := stream.read()) >= 0)

    def _read_to_the_end(self, path: str, opened: Callable[[Any], Any]) -> None:
        nowhere = self.jvm.org.apache.commons.io.output.NullOutputStream.NULL_OUTPUT_STREAM
        with closing(self._opened(path)) as stream:
            self.jvm.org.apache.commons.io.IOUtils.copyLarge(opened(stream), nowhere)

    def delete(self, path: str) -> None:
        """Remove a folder with its contents, if it exists."""
        self.system(path).delete(self._path(path), True)

    def sizes_in(self, path: str) -> dict[str, int]:
        """Return names and sizes in bytes directly in a folder; empty when it doesn't exist."""
        if not self.exists(path):
            return {}
        statuses = self.system(path).listStatus(self._path(path))
        return {str(status.getPath().getName()): int(status.getLen()) for status in statuses}

    def files_below(self, path: str) -> Iterator[tuple[str, int, int, str | None]]:
        """Yield path, bytes, modification time in ms and ETag (if any) of all files below a folder."""
        if not self.exists(path):
            return
        files = self.system(path).listFiles(self._path(path), True)
        etag_source = self.jvm.java.lang.Class.forName("org.apache.hadoop.fs.EtagSource")
        while files.hasNext():
            status = files.next()
            etag = status.getEtag() if etag_source.isInstance(status) else None
            yield str(status.getPath().toString()), status.getLen(), status.getModificationTime(), etag

    def files_in(self, path: str) -> list[str]:
        """Return the paths of all files below a folder, with one call to the JVM; none when it doesn't exist."""
        if not self.exists(path):
            return []
        files = self.system(path).listFiles(self._path(path), True)
        listed = self.jvm.org.apache.hadoop.util.functional.RemoteIterators.toList(files)
        return re.findall(r"path=(.*?); isDirectory=", str(listed.toString()))

    def s3_client_arguments(self) -> dict[str, Any]:
        """Return boto3 client arguments for s3a's endpoint; empty for AWS itself."""
        endpoint = self.configuration.get("fs.s3a.endpoint")
        if not endpoint:
            return {}
        with_scheme = endpoint if "://" in endpoint else f"https://{endpoint}"
        region = self.configuration.get("fs.s3a.endpoint.region")
        return {"endpoint_url": with_scheme} | ({"region_name": region} if region else {})

    def system(self, path: str) -> Any:
        return self._path(path).getFileSystem(self.configuration)

    def _path(self, path: str) -> Any:
        return self.jvm.org.apache.hadoop.fs.Path(path)


def read_text(path: str, spark: SparkSession) -> str:
    """Return the UTF-8 text of a local file, or of one that only Hadoop reaches; SettingsError if it can't be read."""
    local = Path(path.removeprefix("file://"))
    if ("://" not in path or path.startswith("file://")) and local.is_file():
        read = partial(local.read_text, encoding="utf-8")
    else:
        hadoop = Hadoop(spark)
        if not hadoop.exists(path):
            raise SettingsError(f"{path}: no such file")
        read = partial(hadoop.read_text, path)
    try:
        return read()
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: not UTF-8 text ({error})") from error


# Hudi opens a table some 18 times per commit, and each time checks that `.hoodie` exists, reads `hoodie.properties` and
# looks for a bootstrap index: on S3 each look is a paid request. No setting of Hudi or Hadoop prevents that, so the
# driver's file system gets a layer:
#
# - `hoodie.properties` is read once between two calls of `forget`, which the job makes before each look at the table;
#   it implies that `.hoodie` exists and, where it names no bootstrapped table, that there is no bootstrap index.
# - A completed instant never changes. The newest few are kept; the timeline's listing still shows whether one exists.
# - Hudi lists the timeline some 14 times per commit. While this job commits, a listing holds until it changes a file
#   there; before and after, each listing is new, because it shows other writers.
# - Spark checks a landing object's status four times before it reads it: once is enough.
#
# A write, rename or delete clears the memory of a file. Executors with a JVM of their own have no layer. The layer is
# Java (RememberingFileSystem.java), since Python can't extend a class of the JVM, and compiled by Spark's Janino.
_NAME = "spark_jobs.RememberingFileSystem"
_SCHEMES = ("s3", "s3a", "s3n")
_SOURCE = "RememberingFileSystem.java"
# Many tables' jobs begin at the same time, and a second layer wouldn't share the first one's memory.
_INSTALLING = threading.Lock()


@dataclass(frozen=True)
class FileMemory:
    """The layers over the object stores of some paths, each with its path; without any it does nothing."""

    _layers: Sequence[tuple[Any, str]] = ()

    def forget(self) -> None:
        """Clear what is known below the paths."""
        for layer, path in self._layers:
            layer.forgetBelow(path)

    @contextmanager
    def only_writer(self, timeline: str) -> Iterator[None]:
        """Remember the timeline's listing for a block in which nobody else writes, or need be seen."""
        layers = [layer for layer, path in self._layers if timeline.startswith(path)]
        for layer in layers:
            layer.rememberListing(timeline, True)
        try:
            yield
        finally:
            for layer in layers:
                layer.rememberListing(timeline, False)


NOTHING_KNOWN = FileMemory()


def remembering(hadoop: Hadoop, paths: Sequence[str], log: Log) -> FileMemory:
    """Put the layer over the object stores of `paths`; return its memory below them.

    Other file systems get none: a look at a disk costs nothing. Where the layer can't be installed (an unknown Hadoop
    version), a line reports it, and the job continues with more requests.
    """
    try:
        layers = [(_installed(hadoop, path), path) for path in paths if path.partition("://")[0] in _SCHEMES]
    except Exception as error:  # noqa: BLE001  (py4j, Janino and Java's reflection each raise their own)
        log(f"more requests to S3 than needed: {first_line(error)}")
        return NOTHING_KNOWN
    return FileMemory(layers)


def _installed(hadoop: Hadoop, path: str) -> Any:
    """Return the layer over `path`'s file system, which every later `FileSystem.get` of this JVM then returns."""
    jvm = hadoop.jvm
    with _INSTALLING:
        below = hadoop.system(path)
        if below.getClass().getName() == _NAME:
            return below
        layer = _constructor(jvm).newInstance(_array(hadoop, below))
        # Hadoop caches one FileSystem per bucket; only this method, for its own tests, replaces it.
        methods = jvm.java.lang.Class.forName("org.apache.hadoop.fs.FileSystem").getDeclaredMethods()
        [replace] = [method for method in methods if method.getName() == "addFileSystemForTesting"]
        replace.setAccessible(True)
        replace.invoke(None, _array(hadoop, below.getUri(), hadoop.configuration, layer))
        return layer


def _constructor(jvm: Any) -> Any:
    """Return the layer's constructor, compiled once: py4j confuses two classes of one name."""
    if _NAME not in vars(jvm):
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
        compiler.cook((files(__package__) / _SOURCE).read_text(encoding="utf-8"))
        [constructor] = compiler.getClassLoader().loadClass(_NAME).getConstructors()
        setattr(jvm, _NAME, constructor)
    return vars(jvm)[_NAME]


def _array(hadoop: Hadoop, *values: Any) -> Any:
    arrays = hadoop.jvm.java.lang.reflect.Array
    array = arrays.newInstance(hadoop.jvm.java.lang.Class.forName("java.lang.Object"), len(values))
    for index, value in enumerate(values):
        arrays.set(array, index, value)
    return array
