"""Looks at the `hoodie.*` keys that are passed on to Hudi: it would take a misspelt one without a word."""

import difflib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files

from spark_jobs.errors import SettingsError

# Hudi would run these beside the commits; here one commit follows another, and table services belong to it.
_INLINE = "table services run inside the commit here"
_ASYNC = {
    "hoodie.clustering.async.enabled": f"{_INLINE}; hoodie.clustering.inline=true clusters there",
    "hoodie.datasource.clustering.async.enable": f"{_INLINE}; hoodie.clustering.inline=true clusters there",
    "hoodie.datasource.compaction.async.enable": f"{_INLINE}; merge-on-read is compacted unless --disable-compaction",
}
_ERROR_TABLE = "hoodie.errortable."


@cache
def known() -> frozenset[str]:
    """Return the keys that Hudi 0.15's bundle and its AWS module know (hudi_keys.txt says where they are from)."""
    text = (files(__package__) / "hudi_keys.txt").read_text()
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))


def check(properties: Mapping[str, str], ours: Iterable[str], warn: Callable[[str], None]) -> None:
    """Refuse what can't work or is misspelt, naming the key; `warn` about what Hudi 0.15 doesn't know.

    `ours` are keys that the job knows besides. Raises SettingsError.
    """
    names = known() | set(ours)
    for key, value in properties.items():
        if key.startswith(_ERROR_TABLE):
            raise SettingsError(
                f"{key} isn't supported: events that don't fit go to quarantine (hoodie.streamer.quarantine.path)"
            )
        if key in _ASYNC and value.lower() != "false":
            raise SettingsError(f"{key}={value} isn't supported: {_ASYNC[key]}")
        if not key.startswith("hoodie.") or key.startswith("hoodie.streamer.") or key in names:
            continue
        close = difflib.get_close_matches(key, names, n=1, cutoff=0.9)
        if close:
            raise SettingsError(f"{key}: Hudi knows no such key; did you mean {close[0]}?")
        warn(f"{key}: Hudi 0.15 knows no such key; it is passed on all the same")
