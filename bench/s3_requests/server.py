"""An S3 endpoint on loopback that logs each request, so that they can be counted by verb."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from local.services.aws import S3
from local.services.processes import Command, Processes
from local.setup.ports import choose

# S3 counts LIST as a GET but charges it as a PUT; deletes are free.
VERBS = ("LIST", "PUT", "HEAD", "GET", "DELETE")
_REQUEST = re.compile(r"\{(?P<verb>[A-Z]+)@\w+ http://[^/]+(?P<path>/[^\s?]*)(?P<query>\?\S*)? HTTP")
_LOGBACK = """<configuration>
  <appender name="requests" class="ch.qos.logback.core.FileAppender">
    <file>{log}</file><encoder><pattern>%msg%n</pattern></encoder>
  </appender>
  <logger name="org.gaul.s3proxy.S3ProxyHandler" level="DEBUG" additivity="false">
    <appender-ref ref="requests"/>
  </logger>
  <root level="OFF"/>
</configuration>
"""


class Request(NamedTuple):
    """One request: its verb, of VERBS, and the path with the query, `/bucket/key?…`."""

    verb: str
    target: str


class CountedS3(S3):
    """S3Proxy with a log of its requests."""

    def __init__(self, folder: Path, *, port: int) -> None:
        super().__init__(folder, port=port)
        self.log = folder / "requests.log"
        self._read = 0

    def prepare(self) -> Command:
        """Write the configuration, including the log's, and return S3Proxy's command."""
        command = super().prepare()
        (self.log.parent / "logback.xml").write_text(_LOGBACK.format(log=self.log))
        return command

    def taken(self) -> list[Request]:
        """Return the requests since the last call."""
        with self.log.open() as file:
            file.seek(self._read)
            text = file.read()
            self._read = file.tell()
        return list(requests_of(text))


@contextmanager
def counted_s3(folder: Path) -> Iterator[CountedS3]:
    """Run an S3 with two empty buckets, `landing` and `lake`, until the block ends; `folder` holds all its files."""
    processes = Processes(folder, folder / "logs")
    (folder / "s3").mkdir()
    s3 = CountedS3(folder / "s3", port=choose(["s3"], earlier={})["s3"])
    try:
        processes.start(s3.name, s3.prepare())
        processes.wait_until(s3.name, s3.ready, timeout_s=60)
        s3.create_buckets(["landing", "lake"])
        yield s3
    finally:
        processes.stop(s3.name, grace_s=10)


def requests_of(text: str) -> Iterator[Request]:
    """Yield the requests in a log."""
    for found in _REQUEST.finditer(text):
        verb, query = found["verb"], found["query"] or ""
        if verb == "GET" and re.search(r"[?&](list-type|prefix|delimiter)=", query):
            verb = "LIST"
        if verb == "POST":
            verb = "DELETE" if query.startswith("?delete") else "PUT"
        yield Request(verb, found["path"] + query)


def by_verb(requests: list[Request]) -> dict[str, int]:
    """Count requests by verb, in the order of VERBS."""
    counted = Counter(request.verb for request in requests)
    return {verb: counted[verb] for verb in VERBS}
