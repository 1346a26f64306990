"""Events in Debezium's form, the project's files, and AWS as moto simulates it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.options import properties

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient

ROOT = Path(__file__).resolve().parents[2]
CONF = ROOT / "spark_jobs" / "conf"
SCHEMA = ROOT / "pipelines" / "orders" / "cdc_events.avsc"
EVENTS = ROOT / "tests" / "events"
TOPIC = "demo.datalake.cdc_events"
# Settings of tables without partitions: two buckets, and as few files as possible.
SHARED = dict(properties.load(str(CONF / "cdc_events.properties"), lambda path: Path(path).read_text()))

Event = dict[str, Any]


def event(order_id: int, lsn: int, op: str = "u", **fields: Any) -> Event:
    """A change event in Debezium's form (tests/events)."""
    return {
        "order_id": order_id,
        "customer_id": "VINET",
        "order_date": 20777,
        "required_date": 20800,
        "shipped_date": None,
        "order_items": '[{"discount": 0, "quantity": 12, "product_id": 11, "unit_price": 14}]',
        "products": "[]",
        "customer": '{"customer_id": "VINET"}',
        "employee": '{"employee_id": 5}',
        "shipper": "{}",
        "shipment": "{}",
        "updated_at": "2026-11-20T23:23:11.083659Z",
        "__deleted": "true" if op == "d" else "false",
        "__op": op,
        "__db": "devdb",
        "__table": "cdc_events",
        "__schema": "datalake",
        "__lsn": lsn,
        "__source_ts_ms": 1795216992726,
    } | fields


def avro(nullable: Mapping[str, Any], *more: Mapping[str, Any]) -> str:
    """An Avro file of fields by their names and types, behind `more` whole ones."""
    fields = [*more, *({"name": name, "type": ["null", kind]} for name, kind in nullable.items())]
    return json.dumps({"type": "record", "name": "row", "fields": fields})


def captured(case: str) -> list[str]:
    """The values of a captured case, as on the topic."""
    return (EVENTS / f"{case}.jsonl").read_text().splitlines()


def as_lines(events: Sequence[Event | str]) -> str:
    """Events as JSON lines, written as Debezium writes them; a text stands for itself."""
    return "".join(f"{line if isinstance(line, str) else _written(line)}\n" for line in events)


def _written(event: Event) -> str:
    text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    is_utf8 = text.encode(errors="replace").decode() == text  # half a surrogate pair isn't
    return text if is_utf8 else json.dumps(event)


def frame_of(spark: SparkSession, texts: Sequence[str]) -> DataFrame:
    """Lines of one file, as the job hands them to its decoder."""
    lines = [(text, "file", 0, number, 0) for number, text in enumerate(texts)]
    return spark.createDataFrame(lines, "line string, origin string, block int, number long, tie int")


def aws_environment(glue_endpoint: str) -> dict[str, str]:
    """The environment with which AWS's clients use moto."""
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"}
    return keys | {"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL_GLUE": glue_endpoint}


# What boto3's clients need where no answer depends on it.
AWS: dict[str, Any] = {"region_name": "us-east-1", "aws_access_key_id": "x", "aws_secret_access_key": "x"}


def glue_client(endpoint: str) -> "GlueClient":
    return boto3.client("glue", endpoint_url=endpoint, **AWS)


def glue_table(endpoint: str) -> dict[str, Any]:
    """The lake's table in Glue, with its partitions' values."""
    client = glue_client(endpoint)
    table: dict[str, Any] = dict(client.get_table(DatabaseName="datalake", Name="cdc_events")["Table"])
    pages = client.get_paginator("get_partitions").paginate(DatabaseName="datalake", TableName="cdc_events")
    table["partitions"] = sorted(tuple(entry["Values"]) for page in pages for entry in page["Partitions"])
    return table
