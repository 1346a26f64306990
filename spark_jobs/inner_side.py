"""Goes Spark's ordinary way where its inner side is another one than we know: EMR builds a Spark of its own."""

from collections.abc import Callable
from typing import TypeVar

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError

from spark_jobs.program import log

Made = TypeVar("Made")
_strange: set[str] = set()


def quicker(what: str, inner: Callable[[], Made], ordinary: Callable[[], Made]) -> Made:
    """Return what `inner` makes; from the first time on that a class or method isn't there, what `ordinary` makes.

    One line says so. What fails in Java for another reason is raised: it would fail the ordinary way, too.
    """
    if what not in _strange:
        try:
            return inner()
        except (Py4JJavaError, Py4JNetworkError):
            raise
        except (Py4JError, TypeError) as error:  # py4j: no such method; a class that isn't there can't be called
            _strange.add(what)
            said = " ".join(str(error).split())  # py4j names the method in a second line
            log(f"{what} takes longer than it need, as this Spark isn't the one that we know: {said:.300}")
    return ordinary()
