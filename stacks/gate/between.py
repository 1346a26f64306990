"""Rules for what one property can't say: relations between resources, and what outlives its stack."""

from collections.abc import Iterator, Mapping

from settings.connectors import sink_settings
from settings.environment import Environment
from settings.rules import production
from stacks.gate.data import DATA, EMPTIED, EMPTIES, POLICIES
from stacks.gate.network import users
from stacks.gate.properties import IMAGES
from stacks.gate.template import Subject, as_list, plain_text, written

_PLAIN = {"Bool": {"aws:SecureTransport": "false"}}
_DENIED = {"Effect": "Deny", "Action": "s3:*", "Principal": {"AWS": "*"}, "Condition": _PLAIN}
# Old versions of what queries answered: copies of the tables' rows.
_RESULTS_DAYS = 1


def data_survives(subject: Subject) -> Iterator[str]:
    """In production, data must outlive its stack and its replacement, and nothing may empty a bucket."""
    if not subject.settings.production:
        return
    if subject.type == EMPTIES or any(EMPTIED in written(tag) for tag in as_list(subject.get("Tags") or [])):
        yield "lets CDK empty a bucket: production keeps its data, so take this out"
    if not _holds_data(subject):
        return
    for policy in ("DeletionPolicy", "UpdateReplacePolicy"):
        if subject.resource.get(policy) not in POLICIES[1:]:
            yield f"{policy} is {subject.resource.get(policy, 'Delete')}: production keeps its data"


def _holds_data(subject: Subject) -> bool:
    if subject.type == "AWS::SecretsManager::Secret":
        # One that opens a retained database: in the same stack.
        return any(each.stack == subject.stack for each in subject.app.resources("AWS::RDS::DBCluster"))
    if subject.type == "AWS::KMS::Key":
        # An EKS cluster's key encrypts only what is deleted with the cluster.
        return not any(each.stack == subject.stack for each in subject.app.resources("AWS::EKS::Cluster"))
    if subject.type == "AWS::Logs::LogGroup":
        # CloudFormation's events also have what a function logs of a deployment.
        functions = subject.app.resources("AWS::Lambda::Function")
        return all(each.target(each.get("LoggingConfig.LogGroup")) != subject.place for each in functions)
    return subject.type in DATA and DATA[subject.type].kept


def database_kept(subject: Subject) -> Iterator[str]:
    """A database must be encrypted, unless its snapshot decides; in production, it must be protected."""
    # A restored cluster inherits encryption; the source preparation refuses an unencrypted one.
    restored = subject.get("SnapshotIdentifier") or subject.get("SourceDBClusterIdentifier")
    if subject.get("StorageEncrypted") is not True and not restored:
        yield "isn't encrypted: StorageEncrypted must be true"
    # The custom resource protects it last (stacks/handlers/database_protection.py).
    protected = subject.get("DeletionProtection") is True or users(subject, "Custom::ProtectedDatabase")
    if subject.settings.production and not protected:
        yield "isn't protected against deletion, by DeletionProtection or by a Custom::ProtectedDatabase that names it"


def buckets_by_tls(subject: Subject) -> Iterator[str]:
    """Buckets must deny requests without TLS, of everyone, to all that they hold."""
    arn, policies = f"<{subject.id}.Arn>", subject.app.resources("AWS::S3::BucketPolicy")
    denied = [
        {written(each) for each in as_list(statement.get("Resource"))}
        for policy in policies
        for statement in as_list(policy.get("PolicyDocument.Statement") or [])
        if policy.target(policy.get("Bucket")) == subject.place and _DENIED.items() <= statement.items()
    ]
    if not any({arn, f"{arn}/*"} <= each for each in denied):
        yield "takes requests without TLS: no policy denies all of them"


def expires_as_set(subject: Subject) -> Iterator[str]:
    """Objects expire as the settings say; tables never do, since Hudi's cleaner removes unneeded files."""
    settings, name = subject.settings, plain_text(subject.get("BucketName"))
    old = settings.lake.noncurrent_version_expiry_days
    for rule in as_list(subject.get("LifecycleConfiguration.Rules") or []):
        id_, days, prefix = rule.get("Id"), rule.get("ExpirationInDays"), rule.get("Prefix")
        if days is not None and (name, days, prefix) not in _expiring(settings):
            yield f"the lifecycle rule {id_} deletes after {days} days, below {prefix}: the settings don't say so"
        kept = (rule.get("NoncurrentVersionExpiration") or {}).get("NoncurrentDays", old)
        if kept != old and (name, kept) != (settings.bucket_name("results"), _RESULTS_DAYS):
            yield f"the lifecycle rule {id_} must keep old versions for {old} days, as the settings say"


def _expiring(settings: Environment) -> set[tuple[str, int, str | None]]:
    """Return which buckets' objects expire, after how many days, and below which prefix; None means all."""
    lake, bucket = settings.lake, settings.bucket_name
    prefixes = [sink_settings(settings, pipeline).prefix for pipeline in settings.streamed]
    return {
        (bucket("logs"), lake.log_expiry_days, None),
        (bucket("results"), settings.analytics.result_expiry_days, None),
        (bucket("artefacts"), 1, "requests/"),
        # Not the sink's bookkeeping next to the events: it makes it exactly-once.
        *((bucket("landing"), lake.landing_expiry_days, f"{prefix}/") for prefix in prefixes),
    }


def logs_kept(subject: Subject) -> Iterator[str]:
    """In production, people must have time to read logs."""
    days = subject.get("RetentionInDays")
    long = isinstance(days, int) and days >= production.LOG_DAYS
    if subject.settings.production and not long:
        yield f"keeps its events for {days} days: production needs {production.LOG_DAYS} or more"


def tagged(subject: Subject) -> Iterator[str]:
    """Tags must include the settings': the budget finds costs by them."""
    tags = subject.get("Tags") or []
    found = tags if isinstance(tags, Mapping) else {each.get("Key"): each.get("Value") for each in tags}
    for name, value in subject.settings.tags.items() if tags else ():
        if found.get(name) != value:
            yield f"Tags has {name}={written(found.get(name))}: the budget finds costs by {name}={value}"


def worn_once(subject: Subject) -> Iterator[str]:
    """Each function must have a role of its own: with another's it would have that one's rights."""
    role = subject.referred(subject.get("Role"))
    for other in users(role, subject.type) if role else []:
        if other.place != subject.place:
            yield f"has the role of {other.id}: it must have one of its own"


def images_of_amazon(subject: Subject) -> Iterator[str]:
    """Instances must run the newest Amazon Linux, by AWS's own parameter."""
    parameters, image = subject.app.templates[subject.stack].get("Parameters", {}), subject.get("ImageId")
    default = written(parameters.get(image.get("Ref"), {}).get("Default") if isinstance(image, dict) else image)
    if not default.startswith(IMAGES):
        yield f"runs the image {default}: it must be one of AWS's, by a parameter under {IMAGES}"
