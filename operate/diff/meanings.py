"""What a changed key of a connector, a step, a topic or a preparation means for data, if its name doesn't say it.

By kind of custom resource and pattern of the key; the first match counts. What happens to the resource itself is in
operate/changes/update_rules.py.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase

_VALUES = "values arrive in another form: what has landed keeps the old one, and the job must read both"
MEANINGS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "Custom::Connector": (
        ("connectorConfiguration slot.name", "another slot begins now: what the old one still held isn't captured"),
        ("connectorConfiguration topic.prefix", "other topics: Debezium begins with a new snapshot, the old ones stay"),
        ("connectorConfiguration snapshot.mode", "counts where there are no offsets; never for one is no first copy"),
        ("connectorConfiguration table.include.list", "a table that comes isn't copied by itself, one that goes stops"),
        ("connectorConfiguration column.*", "other columns, or other values in them, from the next event on"),
        ("connectorConfiguration publication.name", "what the other publication doesn't have isn't captured"),
        ("connectorConfiguration database.hostname", "another server: offsets of the old one are worth nothing there"),
        ("connectorConfiguration database.dbname", "another database: offsets of the old one are worth nothing there"),
        ("connectorConfiguration database.user", "another role: it needs its rights and the replication attribute"),
        (
            "connectorConfiguration heartbeat.*",
            "how soon the slot moves on in a quiet database; until then WAL is held",
        ),
        ("connectorConfiguration slot.*", "how long the connector waits for its slot before its task fails"),
        ("connectorConfiguration *.handling.mode", _VALUES),
        ("connectorConfiguration time.precision.mode", _VALUES),
        ("connectorConfiguration transforms*", _VALUES),
        ("connectorConfiguration *converter*", _VALUES),
        ("connectorConfiguration unavailable.value.placeholder", _VALUES),
        (
            "connectorConfiguration errors.tolerance",
            "with all, what can't be read is skipped; with none, the connector stops there",
        ),
        ("connectorConfiguration errors.deadletterqueue*", "where events go that can't be read"),
        ("connectorConfiguration connect.s3.error.policy", "what happens to the task when S3 refuses a file"),
        ("connectorConfiguration connect.s3.*ret*", "how long an outage of S3 is waited for before the task fails"),
        (
            "connectorConfiguration connect.s3.kcql",
            "what lands where, and how often: the job reads below its own prefix",
        ),
        ("connectorConfiguration topics", "topics that come are read from their groups' first offsets"),
        ("connectorConfiguration tasks.max", "more tasks than partitions have nothing to do"),
        (
            "connectorConfiguration *max*.bytes",
            "what doesn't fit stops the connector: sizes fit each other by settings",
        ),
        ("connectorConfiguration *max.request.size", "what doesn't fit stops the connector: sizes fit by settings"),
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
            "other tables: they are built anew there from what is still landed, the old ones stay",
        ),
        ("* --target-base-path", "another table: it is built anew there from what is still landed, the old one stays"),
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


def meaning(type_: str, key: str) -> str:
    """Return what a change of this key means, empty if its name says it."""
    for pattern, text in MEANINGS.get(_ALIKE.get(type_, type_), ()):
        if fnmatchcase(key, pattern):
            return text
    return ""
