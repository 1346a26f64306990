"""Prints, as JSON, what the parts of the project make of the contract's names: run in a mutated copy."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import db.outbox
from analytics.queries import Queried, named_queries
from contract.column_types import types
from contract.column_types.catalogue import ColumnType
from db import dump, preparing, replication, rewriting, source_publication, sql_text
from local.dashboard.stages import Lakes, Stage, Stages
from local.dashboard.state import Alive, judge
from local.demo.order_changes import CHANGES
from local.look import quarantine, reconcile
from local.look.status import DataStatus
from local.platform import job, tables
from local.tools import record_events, schema
from plugins import failures
from plugins.connector_settings import SinkSettings, SourceSettings
from plugins.sink_connector import sink_connector
from plugins.source_connector import source_connector
from settings.load_pipeline import load_pipeline
from spark_jobs.decoding import event_ids
from spark_jobs.decoding import schema as schema_of_the_job
from spark_jobs.options import command_line, keys
from spark_jobs.options import settings as job_settings
from spark_jobs.runtime import metrics
from stacks.handlers import connector, emr_steps, framework, source_record
from stacks.monitoring import words

SOURCE = SourceSettings(
    database_hostname="localhost", database_password="${file:/secret:password}", topic_prefix="demo"
)
SINK = SinkSettings(topics=SOURCE.topics, bucket="landing", region="eu-west-1")
ORDERS = load_pipeline("orders")
TABLES = tables.local_tables(ORDERS, kafka={}, s3_endpoint="http://127.0.0.1:1")


def figures() -> Iterator[dict[str, Any]]:
    """Everything that the job publishes of a table."""
    made = metrics.Metrics(None, namespace="", table="", log=print)
    made.ignored_truncates(0)
    made.horizon_age(0)
    return made._data({}, 0, made._states)


CATALOGUE_TYPES = [
    ColumnType(oid=1, schema=schema_name, name=name, kind="base")
    for schema_name, name in (("pg_catalog", "path"), ("public", "hstore"), ("public", "unknown_to_debezium"))
]
EVENT = {"StackId": "arn:aws:cloudformation:r:a:stack/name/id", "LogicalResourceId": "Id", "ResourceProperties": {}}
WELL = Alive(expected=frozenset({"x"}), running=frozenset({"x"}))
STATES = [
    judge(None, None, (), unanswered_s=0),
    judge(Alive(), None, (), unanswered_s=0),
    judge(WELL, ["x"], (), unanswered_s=0),
    judge(WELL, [], (), unanswered_s=1_000),
    *(judge(WELL, [], [Stage(name="x", lag_s=lag_s)], unanswered_s=0) for lag_s in (0, 1, 1_000)),
]

print(
    json.dumps(
        {
            "source connector": source_connector(SOURCE),
            "sink connector": sink_connector(SINK),
            "failures": failures.reason("RecordTooLargeException", source_connector(SOURCE)),
            "SQL": {
                path.name: sql_text.text_of(str(path.relative_to(sql_text.SQL_FOLDER)))
                for path in sorted(Path(sql_text.SQL_FOLDER).rglob("*.sql"))
            },
            "statements": [db.outbox._DROP_FUNCTIONS, db.outbox._DROP_LEFTOVERS],
            "prepared": [*preparing.RELATIONS, *replication.TABLES, str(rewriting.OUTBOX)],
            "dump": sorted(dump.DERIVED_TABLES),
            "platform": [(table.topic.name, table.lake.base_uri) for table in TABLES] + [tables.GLUE_DATABASE],
            "local job": job.job_arguments(ORDERS),
            "demo": [change.statements for change in CHANGES],
            "reconcile": reconcile.OUTBOX,
            "quarantine": quarantine.prefix(TABLES[0].lake_name),
            "named queries": [
                (query.name, query.sql)
                for query in named_queries(
                    tables.GLUE_DATABASE, [Queried(table=table.lake_name, outbox=True) for table in TABLES]
                )
            ],
            "recorded": [case.statements for case in record_events.TRANSACTION_CASES],
            "schema": schema.avro_schema(schema.TABLE, [schema.TableColumn("a", "integer", False)]),
            "job's defaults": [
                *map(command_line.ordering_of, ("JsonDFSSource", "JdbcSource")),
                job_settings.PROPERTIES[keys.QUARANTINE_PATH].default,
            ],
            "pipeline": ORDERS.model_dump(mode="json"),
            "handlers": [
                *(framework.tags_of(EVENT, {}), vars(emr_steps)["TOKEN"]),
                *(vars(connector)[name] for name in ("ASKED", "SHOWN", "CREATED_BY", "FORMER_OWNER")),
                *(vars(source_record)[name] for name in ("PREPARED_BY", "RESNAPSHOT")),
            ],
            "types": [
                types.specials_field(),
                *(types.avro_field("a", "A", types.carried(type_)) for type_ in CATALOGUE_TYPES),  # type: ignore[arg-type]
            ],
            "job's types": [*schema_of_the_job._ENCODINGS, event_ids.COLUMN.name],
            "metrics": list(figures()),
            "live page": [
                *(stage.name for stage in Stages().read(0, None, DataStatus(), Lakes(read_to={}))),
                *(state.word for state in STATES),
            ],
            "CloudWatch": [words.key("x"), *(words.said(runbook, "x") for runbook in words.WORDS)],
            "own tables": [*source_publication.OWN_TABLES, *source_publication.OWN_RIGHTS],
        },
        default=str,
    )
)
