"""A real worker, started in an environment without UTF-8, with a sink that encodes values as the S3 sink does."""

import base64
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from py4j.protocol import Py4JJavaError

from contract.text import UTF_8_FLAG
from local.services.connect import Connect
from local.services.kafka import ADMIN
from local.services.processes import Processes
from local.setup.jars import jar_folder
from local.setup.ports import choose
from local.tools.worker_classes import compile_classes, java_gateway
from plugins.connector_settings import SinkSettings
from plugins.kafka.topics import PlannedTopic
from plugins.releases.archive import write_resources
from plugins.sink.sink_connector import sink_connector
from plugins.workers.connect_workers import UTF8_ONLY, only_in_utf8, resources
from tests.broker import RunningBroker
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

TEXT = "ä€😀"
MIB = 1024 * 1024
SOURCES = [Path(__file__).with_name(f"{name}.java") for name in ("PlainTask", "PlainSink")]
START_S = 300


@pytest.fixture(scope="module")
def worker(shared_broker: RunningBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connect]:
    # The files of a plugin with the sink, and with a check of the charset.
    classes = {f"cdclake/{source.stem}.class": content for source, content in compile_classes(SOURCES).items()}
    service = {"META-INF/services/org.apache.kafka.connect.sink.SinkConnector": "cdclake.PlainSink\n"}
    files = {name: base64.b64encode(content).decode() for name, content in classes.items()} | service
    folder, kafka = tmp_path_factory.mktemp("Größe"), shared_broker.kafka
    connect = Connect(
        folder / "connect",
        port=choose(["connect"], earlier={})["connect"],
        bootstrap_servers=kafka.bootstrap_servers,
        login=kafka.users.java_login(ADMIN),
    )
    (connect.plugins / "plain").mkdir(parents=True)
    write_resources({**files, **resources(UTF8_ONLY)}, connect.plugins / "plain" / "plain.jar")
    processes = Processes(folder, folder / "logs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANG", "C")
        patch.setenv("LC_ALL", "C")
        try:
            processes.run(connect, timeout_s=START_S)
            yield connect
            processes.check_alive(connect.name)
        finally:
            processes.stop(connect.name, grace_s=20)


def landed(worker: Connect, broker: RunningBroker, topic: str, values: list[bytes]) -> Path:
    """Return the file of the sink's output for these values, a line each."""
    broker.kafka.create_topics([PlannedTopic(name=topic, partitions=1, replicas=1)])
    producer = Producer({**broker.kafka.client(), "compression.type": "zstd", "message.max.bytes": 4 * MIB})
    for value in values:
        producer.produce(topic, value=value)
        producer.poll(0)
    assert producer.flush(60) == 0
    file = worker.plugins.parent / f"{topic}.jsonl"
    own = {"connector.class": "cdclake.PlainSink", "tasks.max": "1", "topics": topic, "file": str(file)}
    sink = sink_connector(SinkSettings(topics=(topic,), bucket="landing", region="us-east-1"))
    shared = {name: value for name, value in sink.items() if not name.startswith("connect.s3.")}
    worker.api.put_connector(topic, only_in_utf8({**shared, **own, **worker.acting_as(ADMIN, worker.login)}))
    try:
        size = sum(len(value) + 1 for value in values)
        wait_until(lambda: file.exists() and file.stat().st_size >= size, "all is landed")
    finally:
        with contextlib.suppress(Exception):
            worker.api.delete_connector(topic)
    return file


def test_texts_arrive_from_a_worker_that_was_started_with_lang_c(worker: Connect, shared_broker: RunningBroker) -> None:
    line = json.dumps({"text": TEXT}, ensure_ascii=False, separators=(",", ":")).encode()
    assert landed(worker, shared_broker, "text", [line]).read_bytes().splitlines() == [line]


@pytest.mark.long
def test_one_poll_fits_into_the_workers_memory(worker: Connect, shared_broker: RunningBroker) -> None:
    # A fetch is limited by its compressed size: here 600 MiB in a few kB, on a worker of 512 MB.
    line = json.dumps({"text": "x" * 2 * MIB}, separators=(",", ":")).encode()
    assert landed(worker, shared_broker, "large", [line] * 300).stat().st_size == 300 * (len(line) + 1)


@pytest.mark.parametrize(("flags", "refusal"), [([], "writes text in US-ASCII, not in UTF-8"), ([UTF_8_FLAG], None)])
def test_no_task_starts_on_a_jvm_that_would_change_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str], refusal: str | None
) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    write_resources(resources(UTF8_ONLY), tmp_path / "own.jar")
    path = f"{tmp_path / 'own.jar'}:{jar_folder('kafka')}/*"
    with java_gateway(path, flags) as gateway:
        step = (
            gateway.jvm.java.lang.Class.forName(UTF8_ONLY.name)
            .getConstructors()[0]
            .newInstance(gateway.new_array(gateway.jvm.Object, 0))
        )
        with contextlib.nullcontext() if refusal is None else pytest.raises(Py4JJavaError, match=refusal):
            step.configure({})
