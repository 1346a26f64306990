"""Prints, as JSON, what the parts of the project make of the contract's names: run in a mutated copy."""

import json
from pathlib import Path

import db.outbox
from db import dump, preparing, replication, rewriting, sql_text
from local.demo.changes import CHANGES
from local.look import quarantine, reconcile
from local.platform import job, tables
from local.tools import record_events, schema
from plugins import connectors, failures
from settings.load_pipeline import load_pipeline
from spark_jobs import keys, options
from stacks.handlers import emr_step, framework

SOURCE = connectors.SourceSettings(
    database_hostname="localhost", database_password="${file:/secret:password}", topic_prefix="demo"
)
SINK = connectors.SinkSettings(topics=SOURCE.topics, bucket="landing", region="eu-west-1")
ORDERS = load_pipeline("orders")
TABLES = tables.local_tables(ORDERS, kafka={}, s3_endpoint="http://127.0.0.1:1")
EVENT = {"StackId": "arn:aws:cloudformation:r:a:stack/name/id", "LogicalResourceId": "Id", "ResourceProperties": {}}

print(
    json.dumps(
        {
            "source connector": connectors.source_connector(SOURCE),
            "sink connector": connectors.sink_connector(SINK),
            "failures": failures.reason("RecordTooLargeException"),
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
            "recorded": [case.statements for case in record_events.TRANSACTION_CASES],
            "schema": schema.avro_schema(schema.TABLE, [schema.TableColumn("a", "integer", False)]),
            "job's defaults": [
                options.build_parser().get_default("source_ordering_field"),
                keys.STREAMER_PROPERTIES[keys.QUARANTINE_PATH].default,
            ],
            "pipeline": ORDERS.model_dump(mode="json"),
            "handlers": [framework.tags_of(EVENT, {}), vars(emr_step)["TOKEN"]],
        },
        default=str,
    )
)
