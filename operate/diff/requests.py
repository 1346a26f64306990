"""Changes in the requests of our custom resources, key by key, and whether the gate judges them.

Connectors' configurations, steps' arguments, topics, plugins and the source's preparation are strings to
CloudFormation. Where a key's name doesn't say what its change means for data, MEANINGS does; what happens to the
resource itself is in operate/diff/effects.py.
"""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from operate.diff.effects import Path
from operate.diff.normal_form import from_to, short, value
from stacks.gate.properties import is_judged
from stacks.gate.template import is_intrinsic

# Before the job's file: an option without a value would swallow it.
_FLAGS = frozenset({"--continuous", "--enable-sync", "--verbose"})
_VERSION = re.compile(r"[-_.]v?\d.*$")
_VALUES = "values arrive in another form: what has landed keeps the old one, and the job must read both"
# Of a connector's configuration.
_CONFIGURATION = (
    ("slot.name", "another slot begins now: what the old one holds isn't captured; drop it, or it fills the disk"),
    ("topic.prefix", "other topics: Debezium begins with a new snapshot, the old ones stay"),
    ("snapshot.mode", "counts where there are no offsets; never for one is no first copy"),
    ("table.include.list", "a table that comes isn't copied by itself, one that goes stops"),
    ("column.*|hashed.*", "other columns, or other values in them, from the next event on"),
    ("publication.name", "what the other publication doesn't have isn't captured"),
    ("database.hostname", "another server: a restored one has other offsets, any other is refused"),
    ("database.dbname", "another database: its offsets are others, so it is refused"),
    ("database.user", "another role: it needs its rights and the replication attribute"),
    ("heartbeat.*", "how soon the slot moves on in a quiet database; until then WAL is held"),
    ("slot.*", "how long the connector waits for its slot before its task fails"),
    ("*.handling.mode|time.precision.mode|transforms*|*converter*|unavailable.value.placeholder", _VALUES),
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
_CONNECTOR = (
    *((f"connectorConfiguration {key}", text) for keys_, text in _CONFIGURATION for key in keys_.split("|")),
    ("capacity*", "workers are added or taken away; tasks move over"),
    ("plugins*", "the connector moves over to the other plugin"),
    ("workerConfiguration*", "the workers start again with other settings"),
    ("serviceExecutionRoleArn", "what the connector may do is another role's"),
    ("logDelivery*", "where the connector's log goes"),
    ("connectorName", "slot and offsets go by it"),
)
MEANINGS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "Custom::Connector": _CONNECTOR,
    "Custom::KubernetesConnector": _CONNECTOR,
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


class Key(NamedTuple):
    """A key as people read it has this value; the gate judges it as a property of this type, at this path."""

    type: str
    path: Path
    value: Any

    @property
    def of_handler(self) -> Path:
        """Its path for the handler."""
        return self.path[1:] if self.path[0] == "Request" and len(self.path) > 1 else self.path


Keys = dict[str, Key]


def in_words(type_: str, key: str, before: Any, after: Any) -> str:
    """Write a changed key, and what that means. A key that is only there, or not, has the value True."""
    if before is None:
        said = f"{key}: new" if after is True else f"{key}: new, {short(value(after))}"
    elif after is None:
        said = f"{key}: gone" if before is True else f"{key}: gone, was {short(value(before))}"
    else:
        said = f"{key}: {from_to(before, after)}"
    means = next((text for pattern, text in MEANINGS.get(type_, ()) if fnmatchcase(key, pattern)), "")
    return f"{said}. {means[0].upper()}{means[1:]}" if means else said


def keys(type_: str, properties: Mapping[str, Any]) -> Keys:
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
    named: list[tuple[str, Any]] = [(key, part)]
    match type_, key:
        case "Custom::EmrStep", "arguments":
            named = [(key, _options(part))]
        case "Custom::EmrStep", "further":
            named = [(f"step {step['name']}", _options(step["arguments"])) for step in part]
        case "Custom::Topics", "topics":
            named = [(f"topic {each['name']}", _topic(each)) for each in part]
        case "Custom::Plugin", "releases":
            named = [(f"release {_VERSION.sub('', release['file'])}", release) for release in part]
        case "Custom::KubernetesConnector" | "Custom::KubernetesObjects", "objects":
            return {name: each for object_ in part for name, each in _manifest(object_).items()}
    return {name: each for item in named for name, each in _under(*item, type_, ("Request", key)).items()}


def _topic(topic: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: topic[name] for name in topic if name not in ("name", "config")} | dict(topic.get("config", {}))


def _manifest(each: Mapping[str, Any]) -> Keys:
    """Write a Kubernetes object by kind and name; of its metadata only what the gate judges."""
    type_, name = f"kubernetes/{each['kind']}", f"{each['kind']} {each['metadata']['name']}"
    return {name: Key(type_, ("kind",), value=True)} | {
        words: key
        for words, key in _under(name, each, type_, ()).items()
        if key.path[0] not in ("apiVersion", "kind", "metadata")
        or (is_judged(type_, key.path) and key.path != ("metadata", "name"))
    }


def _under(name: str, value: Any, type_: str, path: Path) -> Keys:
    if not isinstance(value, Mapping) or not value or is_intrinsic(value):
        return {name: Key(type_, path, value)}
    inner = (_under(f"{name} {key}", each, type_, (*path, key)) for key, each in value.items())
    return {words: key for each in inner for words, key in each.items()}


def _options(arguments: Sequence[str]) -> dict[str, Any]:
    """Parse a spark-submit command: options by name, `--conf` and the like by key, the rest by position."""
    found: dict[str, Any] = {}
    words = list(map(str, arguments))
    while words:
        name = words.pop(0)
        if not name.startswith("--"):
            found[f"argument {1 + sum(key.startswith('argument ') for key in found)}"] = name
        elif name in _FLAGS or not words or words[0].startswith("--"):
            found[name] = True
        elif name in ("--conf", "--hoodie-conf"):
            setting, _, text = words.pop(0).partition("=")
            found[f"{name} {setting}"] = text
        else:
            found[name] = words.pop(0)
    return found
