"""Finds PySpark's files, which include Spark, Ivy and a Java compiler."""

from importlib.util import find_spec
from pathlib import Path


def spark_home() -> Path:
    """Return PySpark's folder. It isn't imported: that would cost each command 0.14 s of CPU.

    Raises ModuleNotFoundError when PySpark isn't installed.
    """
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("no module named pyspark: run `make setup`")
    return Path(spec.origin).parent
