"""Changes in the requests of our custom resources, key by key, and whether the gate judges them.

Connectors' configurations, steps' arguments, topics, plugins and the source's preparation are strings to
CloudFormation. Where a key's name doesn't say what its change means for data, MEANINGS does; what happens to the
resource itself is in operate/changes/update_rules.py.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from operate.changes.compare import short_type
from operate.changes.update_rules import Path
from operate.diff.judged import is_judged, pairs
from operate.diff.normal_form import Template, from_to, resource, short, value
from stacks.gate.template import is_intrinsic

NOT_THERE = object()
_VERSION = re.compile(r"[-_.]v?\d.*$")
_VALUES = "values arrive in another form: what has landed keeps the old one, and the job must read both"
# Of a connector's configuration.
_CONFIGURATION = (
    ("slot.name", "another slot begins now: what the old one still held isn't captured"),
    ("topic.prefix", "other topics: Debezium begins with a new snapshot, the old ones stay"),
    ("snapshot.mode", "counts where there are no offsets; never for one is no first copy"),
    ("table.include.list", "a table that comes isn't copied by itself, one that goes stops"),
    ("column.*", "other columns, or other values in them, from the next event on"),
    ("hashed.*", "other columns, or other values in them, from the next event on"),
    ("publication.name", "what the other publication doesn't have isn't captured"),
    ("database.hostname", "another server: offsets of the old one are worth nothing there"),
    ("database.dbname", "another database: offsets of the old one are worth nothing there"),
    ("database.user", "another role: it needs its rights and the replication attribute"),
    ("heartbeat.*", "how soon the slot moves on in a quiet database; until then WAL is held"),
    ("slot.*", "how long the connector waits for its slot before its task fails"),
    ("*.handling.mode", _VALUES),
    ("time.precision.mode", _VALUES),
    ("transforms*", _VALUES),
    ("*converter*", _VALUES),
    ("unavailable.value.placeholder", _VALUES),
    ("errors.tolerance", "with all, what can't be read is skipped; with none, the connector stops there"),
    ("errors.deadletterqueue*", "where events go that can't be read"),
    ("connect.s3.error.policy", "what happens to the task when S3 refuses a file"),
    ("connect.s3.*ret*", "how long an outage of S3 is waited for before the task fails"),
    ("connect.s3.kcql", "what lands where, and how often: the job reads below its own prefix"),
    ("topics", "topics that come are read from their groups' first offsets"),
    ("tasks.max", "more tasks than partitions have nothing to do"),
    ("*max*.bytes", "what doesn't fit stops the connector: sizes fit each other by settings"),
    ("*max.request.size", "what doesn't fit stops the connector: sizes fit by settings"),
)
MEANINGS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "Custom::Connector": (
        *((f"connectorConfiguration {key}", text) for key, text in _CONFIGURATION),
        ("capacity*", "workers are added or taken away; tasks move over"),
        ("plugins*", "the connector moves over to the other plugin"),
        ("workerConfiguration*", "the workers start again with other settings"),
        ("serviceExecutionRoleArn", "what the connector may do is another role's"),
        ("logDelivery*", "where the connector's log goes"),
        ("connectorName", "slot and offsets go by it"),
    ),
    "Custom::EmrStep": (
        (
            "* --base-path-prefix",
            "other tables: they are built again there from what is still landed, the old ones stay",
        ),
        ("* --target-base-path", "another table: it is built again there from what is still landed, the old one stays"),
        ("* --table-type", "tables that are there keep their type: the job refuses another one"),
        ("* --op", "how rows are written: another operation may leave duplicates or deleted rows"),
        ("* --source-ordering-field", "which of two versions of a row wins"),
        ("* --source-class", "what the job reads"),
        ("* hoodie.streamer.jdbc.url", "another server: all rows are read there, and compared with the table's"),
        ("* --ignore-checkpoint", "all rows are read once more, and compared with the table's"),
        ("* --driver-memory", "must fit the node that it runs on"),
        ("* --executor-memory", "must fit the nodes"),
        ("* --enable-sync", "whether Glue, and so Athena, learns of tables and columns"),
        ("* --continuous", "whether the job stays, or ends after one round"),
        ("clusterId", "the job runs on another cluster and goes on from its last commit"),
    ),
    "Custom::Topics": (
        ("* partitions", "more are added and never taken away; a key may go to another one from then on"),
        ("* replicas", "counts for new topics: those that are there keep theirs"),
        ("* retention.ms", "what is older goes: nobody can read it again"),
        ("* retention.bytes", "what is older than this size holds goes: nobody can read it again"),
        ("* cleanup.policy", "compact keeps a key's last event alone"),
        ("* max.message.bytes", "what is larger is refused"),
        ("group", "another group begins at the topic's first offset: everything that is kept lands again"),
        ("groupTopic*", "which topics the sink's group is given first offsets of"),
    ),
    "Custom::Plugin": (
        ("* sha256", "what is deployed is checked against it"),
        ("resources *", "a file inside the plugin"),
    ),
    "Custom::PreparedSource": (
        ("sqlHash", "the SQL that prepares the source has changed: it runs again, and migrates the outbox in place"),
        ("slot", "another slot: changes until it is there are missed, and ./lake resnapshot brings them"),
        ("database", "another database is prepared; the old one stays as it is"),
        ("sample*", "counts when the database is made: data that is there stays"),
        ("setMasterPassword", "the master's password is set from its secret"),
        ("connectorSecret", "the connector's role gets the password of another secret"),
    ),
    "Custom::QueriedSource": (
        ("sqlHash", "what lets the role read has changed: it runs again"),
        ("tables*", "the role gets to read what comes; what it could read before it still may"),
        ("queries*", "the role gets to read what they name; what it could read before it still may"),
        ("role", "another role gets to read; the old one stays as it is"),
    ),
    "Custom::BootstrapBrokers": (("clusterArn", "the brokers' addresses are looked up again"),),
}


# The same configuration, in another place.
_ALIKE = {"Custom::KubernetesConnector": "Custom::Connector"}


def requests(stack: str, before: Template, after: Template) -> Iterator[tuple[str, bool]]:
    """Yield a line for each changed key of the custom resources that a stack keeps, and whether the gate judges it."""
    for name, old, new in pairs(before, after):
        if not new["Type"].startswith("Custom::"):
            continue
        was, is_ = (_readable(new["Type"], each.get("Properties", {})) for each in (old, new))
        for key in sorted(was.keys() | is_.keys()):
            (before_, _), (after_, _) = (side.get(key, (NOT_THERE, False)) for side in (was, is_))
            if before_ != after_:
                said = f"{stack}/{resource(name)} ({short_type(new['Type'])})"
                yield f"{said}: {_change(new['Type'], key, before_, after_)}", (was | is_)[key][1]


def _change(type_: str, key: str, before: Any, after: Any) -> str:
    if before is NOT_THERE:
        said = f"{key}: new, {short(value(after))}" if after is not True else f"{key}: new"
    elif after is NOT_THERE:
        said = f"{key}: gone, was {short(value(before))}" if before is not True else f"{key}: gone"
    else:
        said = f"{key}: {from_to(before, after)}"
    means = meaning(type_, key)
    return f"{said}. {means[0].upper()}{means[1:]}" if means else said


Keys = dict[str, tuple[Any, bool]]


def _readable(type_: str, properties: Mapping[str, Any]) -> Keys:
    """Write properties and the request as keys with values: lists of named items by name, a command by its options."""
    found: Keys = {}
    for key, each in properties.items():
        match each:
            case {"json": dict() as request} if key == "Request":
                for name, part in request.items():
                    found |= _of_request(type_, name, part)
            case _:
                found |= _under(key, each, type_, (key,))
    return found


def _of_request(type_: str, key: str, part: Any) -> Keys:
    found: Keys = {}
    place = (type_, ("Request", key))
    match type_, key:
        case "Custom::EmrStep", "arguments":
            return _under("arguments", _options(part), *place)
        case "Custom::EmrStep", "further":
            for step in part:
                found |= _under(f"step {step['name']}", _options(step["arguments"]), *place)
        case "Custom::Topics", "topics":
            for topic in part:
                settings = {name: topic[name] for name in topic if name not in ("name", "config")}
                found |= _under(f"topic {topic['name']}", settings | dict(topic.get("config", {})), *place)
        case "Custom::KubernetesConnector" | "Custom::KubernetesObjects", "objects":
            for each in part:
                found |= _manifest(each)
        case "Custom::Plugin", "releases":
            for release in part:
                found |= _under(f"release {_VERSION.sub('', release['file'])}", release, *place)
        case _:
            return _under(key, part, *place)
    return found


def _manifest(each: Mapping[str, Any]) -> Keys:
    """Write a Kubernetes object by kind and name; of its metadata only what the gate judges."""
    kind, metadata = each["kind"], each["metadata"]
    name = f"{kind} {metadata['name']}"
    found = {name: (True, True)}
    for key, part in each.items():
        keys = _under(f"{name} {key}", part, f"kubernetes/{kind}", (key,))
        if key not in ("apiVersion", "kind", "metadata"):
            found |= keys
        else:
            found |= {each: value for each, value in keys.items() if value[1] and not each.endswith("metadata name")}
    return found


def _under(name: str, value: Any, type_: str, path: Path) -> Keys:
    if not isinstance(value, Mapping) or not value or is_intrinsic(value):
        return {name: (value, is_judged(type_, path))}
    found: Keys = {}
    for key, each in value.items():
        found |= _under(f"{name} {key}", each, type_, (*path, key))
    return found


def _options(arguments: Sequence[str]) -> dict[str, Any]:
    """Parse a spark-submit command: options by name, `--conf` and the like by key, the rest by position."""
    found: dict[str, Any] = {}
    place, index = 0, 0
    while index < len(arguments):
        name, index = str(arguments[index]), index + 1
        if not name.startswith("--"):
            place += 1
            found[f"argument {place}"] = name
            continue
        given = str(arguments[index]) if index < len(arguments) and not str(arguments[index]).startswith("--") else None
        if name in ("--conf", "--hoodie-conf") and given is not None:
            setting, _, text = given.partition("=")
            found[f"{name} {setting}"], index = text, index + 1
        elif given is None or name in _FLAGS:
            found[name] = True
        else:
            found[name], index = given, index + 1
    return found


def meaning(type_: str, key: str) -> str:
    """Return what a change of this key means, empty if its name says it."""
    for pattern, text in MEANINGS.get(_ALIKE.get(type_, type_), ()):
        if fnmatchcase(key, pattern):
            return text
    return ""


# Before the job's file: an option without a value would swallow it.
_FLAGS = frozenset({"--continuous", "--enable-sync", "--verbose"})
