"""Refuses properties that nobody knows, that this job hasn't, or that contradict an option."""

import difflib
from collections.abc import Mapping

from spark_jobs import keys
from spark_jobs.errors import SettingsError
from spark_jobs.options import Options
from spark_jobs.property_values import number


def refuse_unknown(properties: Mapping[str, str]) -> None:
    """Raise SettingsError for a `hoodie.streamer.*` key that is misspelt or has no meaning here."""
    for key in properties:
        known = key in keys.STREAMER_PROPERTIES or key.startswith(keys.JDBC_EXTRA)
        if not key.startswith("hoodie.streamer.") or known:
            continue
        if reason := _why_unsupported(key):
            raise SettingsError(f"{key} isn't supported: {reason}")
        close = difflib.get_close_matches(key, keys.STREAMER_PROPERTIES, n=1, cutoff=0.85)
        raise SettingsError(f"{key}: unknown property" + (f"; did you mean {close[0]}?" if close else ""))


def refuse_beyond_bounds(properties: Mapping[str, str]) -> None:
    """Raise SettingsError for a number that can't be meant, whether this job uses it or not."""
    for key in keys.NUMBERS.keys() & properties:
        number(properties, key)


def _why_unsupported(key: str) -> str | None:
    """Return the reason for a key of HoodieStreamer that this job hasn't; None for one that HoodieStreamer hasn't."""
    if key in keys.UNSUPPORTED:
        return keys.UNSUPPORTED[key]
    fitting = [prefix for prefix in keys.UNSUPPORTED_PREFIXES if key.startswith(prefix)]
    return keys.UNSUPPORTED_PREFIXES[max(fitting, key=len)] if fitting else None


def refuse_contradictions(options: Options, properties: Mapping[str, str]) -> None:
    """Raise SettingsError for a property that says otherwise than the option that decides."""
    decided = {
        "hoodie.datasource.write.operation": options.operation,
        "hoodie.datasource.write.table.type": options.table_type,
        "hoodie.table.type": options.table_type,
        "hoodie.datasource.write.precombine.field": options.ordering_field,
        "hoodie.payload.ordering.field": options.ordering_field,
        "hoodie.table.precombine.field": options.ordering_field,
        "hoodie.payload.event.time.field": options.ordering_field,
        "hoodie.database.name": options.target_table.rpartition(".")[0],
        "hoodie.table.name": options.target_table.rpartition(".")[2],
        "hoodie.datasource.write.table.name": options.target_table.rpartition(".")[2],
        "hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
        "hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING",
        "hoodie.datasource.write.commitmeta.key.prefix": keys.PROGRESS_PREFIX,
    }
    for key, option in keys.DECIDED_BY_OPTION.items():
        given = properties.get(key)
        if given is not None and given.lower() != decided[key].lower():
            raise SettingsError(f"{key}={given} contradicts {option}, which says {decided[key]}")
    base_path = properties.get("hoodie.base.path", options.target_base_path)
    if base_path.rstrip("/") != options.target_base_path:
        raise SettingsError(
            f"hoodie.base.path={base_path} contradicts --target-base-path, which says {options.target_base_path}"
        )
