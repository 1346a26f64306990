"""Remembers the files that Hudi reads again and again within one commit: on S3 each look is a paid request.

Hudi opens a table some 18 times per commit, and each time checks that `.hoodie` exists, reads `hoodie.properties` and
looks for a bootstrap index. No setting of Hudi or Hadoop prevents that, so the driver's file system gets a layer:

- `hoodie.properties` is read once between two calls of `forget`, which the job makes before each look at the table; it
  implies that `.hoodie` exists and, where it names no bootstrapped table, that there is no bootstrap index.
- A completed instant never changes. The newest few are kept; the timeline's listing still shows whether one exists.
- Spark checks a landing object's status four times before it reads it: once is enough.

A write, rename or delete clears the memory of a file. Executors with a JVM of their own have no layer. The layer is
Java (RememberingFileSystem.java), since Python can't extend a class of the JVM, and compiled by Spark's Janino.
"""

import threading
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any

from spark_jobs.errors import Log, first_line
from spark_jobs.runtime.hadoop import Hadoop

_NAME = "spark_jobs.RememberingFileSystem"
_SCHEMES = ("s3", "s3a", "s3n")
_SOURCE = "RememberingFileSystem.java"
# Many tables' jobs begin at the same time, and a second layer wouldn't share the first one's memory.
_INSTALLING = threading.Lock()


def remembering(hadoop: Hadoop, paths: Sequence[str], log: Log) -> Callable[[], None]:
    """Put the layer over the object stores of `paths`; return a function that clears its memory below them.

    Other file systems get none: a look at a disk costs nothing. Where the layer can't be installed (an unknown Hadoop
    version), a line reports it, and the job continues with more requests.
    """
    try:
        layers = [(_installed(hadoop, path), path) for path in paths if path.partition("://")[0] in _SCHEMES]
    except Exception as error:  # noqa: BLE001  (py4j, Janino and Java's reflection each raise their own)
        log(f"more requests to S3 than needed: {first_line(error)}")
        return lambda: None

    def forget() -> None:
        for layer, path in layers:
            layer.forgetBelow(path)

    return forget


def _installed(hadoop: Hadoop, path: str) -> Any:
    """Return the layer over `path`'s file system, which every later `FileSystem.get` of this JVM then returns."""
    with _INSTALLING:
        below = hadoop.system(path)
        return below if below.getClass().getName() == _NAME else _installed_over(hadoop, below)


def _installed_over(hadoop: Hadoop, below: Any) -> Any:
    jvm = hadoop.jvm
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
