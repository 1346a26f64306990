"""Two workers of one connector on this machine, with the pods' properties and the rights of their role.

Differences from pods: addresses, because both are on one machine, and the login, which is IAM's there.
"""

import json
import os
import shutil
import signal
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.services.connect import Connect
from local.services.jvm import java_command, log4j_options
from local.services.processes import Command, Processes
from local.setup.ports import HOST
from plugins.releases.archive import write_resources
from plugins.workers.connect_workers import (
    ADDRESS,
    BROKERS,
    OFFSETS,
    PATH,
    WORKER_HEALTH,
    properties_file,
    resources,
    worker_properties,
)
from plugins.workers.kubernetes_api import KubernetesError, UnreachableError
from tests.stacks.handlers.kubernetes.cluster import FakeCluster

HEAP_MB = 320
ANSWER_S = 30
PASSWORD = "DATABASE_PASSWORD"


@dataclass(frozen=True, kw_only=True)
class Workers:
    """The group of `connector`: `ports` are its workers' REST ports, by their names.

    `files` are next to their properties, as in the ConfigMap: on the class path.
    """

    folder: Path
    processes: Processes
    connector: str
    offsets: str
    bootstrap_servers: str
    login: Mapping[str, str]
    password: str
    files: Mapping[str, str]
    ports: Mapping[str, int]

    def prepare(self) -> None:
        """Install the plugins, as in the image."""
        Connect(self.folder, port=0, bootstrap_servers="", lenses=None).install_plugins()
        (self.folder / "libs").mkdir()
        write_resources(resources(WORKER_HEALTH), self.folder / "libs" / "cdc-lake-worker.jar")

    def start(self, name: str) -> None:
        """Start a worker."""
        port = self.ports[name]
        properties = worker_properties(self.connector, plugin_path=str(self.folder / "plugins"), login=self.login) | {
            "listeners": f"http://{HOST}:{port}",
            "rest.advertised.port": str(port),
            "config.providers.env.param.allowlist.pattern": "|".join((ADDRESS, BROKERS, OFFSETS, PASSWORD)),
        }
        own = self.folder / name
        own.mkdir(exist_ok=True)
        for file_name, text in self.files.items():
            (own / file_name).write_text(text)
        file = own / "worker.properties"
        # The login's JAAS has no backslash, and quotes stay unchanged.
        file.write_text(properties_file(properties))
        argv = java_command(
            jars="kafka",
            main="org.apache.kafka.connect.cli.ConnectDistributed",
            arguments=[str(file)],
            heap_mb=HEAP_MB,
            options=log4j_options(own),
        )
        jars = argv.index("-cp") + 1
        argv[jars] = f"{argv[jars]}:{self.folder / 'libs'}/*:{own}"
        variables = {ADDRESS: HOST, BROKERS: self.bootstrap_servers, OFFSETS: self.offsets, PASSWORD: self.password}
        self.processes.start(name, Command(argv=argv, folder=own, environment=variables))

    def kill(self, name: str) -> None:
        """Kill a worker without warning."""
        for process in self.processes.find()[name]:
            os.kill(process.pid, signal.SIGKILL)
        self.processes.stop(name, grace_s=5)

    def ask(self, name: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Return status and JSON of an answer; (0, None) without one."""
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://{HOST}:{self.ports[name]}{path}",
            method=method,
            data=content,
            headers={"Content-Type": "application/json", "Accept": "application/json"},
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=ANSWER_S) as response:
                answer = response.read()
                return int(response.status), json.loads(answer) if answer else None
        except urllib.error.HTTPError as error:
            answer = error.read()
            return int(error.code), json.loads(answer) if answer.startswith((b"{", b"[")) else None
        except OSError:
            return 0, None

    def working(self) -> str | None:
        """Name the worker that has the connector's task, None if none runs it."""
        for name in self.ports:
            status, found = self.ask(name, "GET", f"/connectors/{self.connector}/status")
            for task in found["tasks"] if status == 200 else ():
                if task["state"] == "RUNNING":
                    port = int(task["worker_id"].rpartition(":")[2])
                    return next((other for other, theirs in self.ports.items() if theirs == port), None)
        return None

    def health(self) -> set[int]:
        """The workers' answers to probes."""
        return {self.ask(name, "GET", PATH)[0] for name in self.ports}

    def clean_up(self) -> None:
        for name in self.ports:
            self.processes.stop(name, grace_s=20)
        shutil.rmtree(self.folder / "plugins", ignore_errors=True)


class RealRest(FakeCluster):
    """A cluster in memory, whose proxy leads to real workers."""

    real: Workers

    def through_service(self, method: str, namespace: str, name: str, path: str, body: Any = None) -> Any:  # noqa: ARG002
        for worker in self.real.ports:
            status, answer = self.real.ask(worker, method, path, body)
            if status:
                break
        # As kubernetes_api.py handles it: a starting worker answers 404, and not in Connect's format.
        starting = status == 404 and "error_code" not in (answer or {})
        if status == 0 or status == 409 or status >= 500 or starting:
            raise UnreachableError(f"{name} answers {status}: {answer}")
        if status >= 400:
            raise KubernetesError(f"{method} {path}", status, str(answer.get("message")))
        return answer
