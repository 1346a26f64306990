"""Rules for analysts' access: workgroups that clients can't change, read-only rights, dashboards of own data only."""

from collections.abc import Iterator

from analytics import dashboard
from stacks.gate.rights import grants, holders, statements
from stacks.gate.template import Subject, as_list, written

_READING = frozenset({"DESCRIBE", "SELECT"})
_KEEPING = _READING | {"ALL", "CREATE_TABLE"}
_QUICKSIGHT = "AWS::QuickSight::"


def workgroups_closed(subject: Subject) -> Iterator[str]:
    """Query results must be encrypted in a bucket of this account, and each query must have a scan limit."""
    if subject.type != "AWS::Athena::WorkGroup":
        return
    result = "WorkGroupConfiguration.ResultConfiguration"
    if subject.get("WorkGroupConfiguration.EnforceWorkGroupConfiguration") is not True:
        yield "lets clients choose where results go: EnforceWorkGroupConfiguration must be true"
    if not subject.get(f"{result}.EncryptionConfiguration.EncryptionOption"):
        yield "doesn't encrypt results: ResultConfiguration has no EncryptionConfiguration"
    if not subject.get(f"{result}.OutputLocation") or subject.get(f"{result}.ExpectedBucketOwner") != (
        subject.facts.account
    ):
        yield "may write results into a bucket of somebody else's: ExpectedBucketOwner must be this account"
    if not subject.get("WorkGroupConfiguration.BytesScannedCutoffPerQuery"):
        yield "lets a query read as much as there is: set BytesScannedCutoffPerQuery"


def lake_formation_reads(subject: Subject) -> Iterator[str]:
    """Lake Formation may grant reading, and keeping tables to roles that create them by IAM; no grant options."""
    if subject.type != "AWS::LakeFormation::PrincipalPermissions":
        return
    principal = subject.get("Principal.DataLakePrincipalIdentifier")
    allowed = _KEEPING if _makes_tables(subject, subject.target(principal)) else _READING
    for permission in as_list(subject.get("Permissions") or []):
        if permission not in allowed:
            yield f"grants {permission}: whoever makes no tables reads them"
    if subject.get("PermissionsWithGrantOption"):
        yield "lets readers grant what they have to others: PermissionsWithGrantOption must be empty"
    if subject.target(principal) is None and f":iam::{subject.facts.account}:" not in written(principal):
        yield f"grants to {written(principal)}, which isn't a role or user of this account"


def _makes_tables(subject: Subject, role: tuple[str, str] | None) -> bool:
    """Whether a role's own policies let it create tables."""
    policies = subject.app.resources("AWS::IAM::Policy", "AWS::IAM::Role") if role else ()
    return any(
        grant.action == "glue:CreateTable"
        for policy in policies
        if role in {(policy.stack, holder) for holder in holders(policy)}
        for _, statement in statements(policy)
        for grant in grants(statement)
    )


def sources_as_a_role(subject: Subject) -> Iterator[str]:
    """QuickSight must query under a role of this app: the account's default role sees the data of all its sources."""
    if subject.type != f"{_QUICKSIGHT}DataSource":
        return
    role = subject.get("DataSourceParameters.AthenaParameters.RoleArn")
    if subject.target(role) is None:
        yield f"asks Athena as {written(role)}: RoleArn must be a role of this app"
    if subject.get("Credentials"):
        yield "brings credentials of its own: its role is enough"


def shows_own_data(subject: Subject) -> Iterator[str]:
    """Analyses and dashboards may show only data sets of this app."""
    if not subject.type.startswith(_QUICKSIGHT) or not subject.get("Definition"):
        return
    own = {(found.stack, found.id) for found in subject.app.resources(f"{_QUICKSIGHT}DataSet")}
    for declared in subject.get("Definition.DataSetIdentifierDeclarations") or []:
        if subject.target(declared.get("DataSetArn")) not in own:
            yield f"shows {written(declared.get('DataSetArn'))}: it must be a data set of this app"


def shown_to_people(subject: Subject) -> Iterator[str]:
    """QuickSight resources may be shared only with this account's QuickSight users and groups, by known actions."""
    if not subject.type.startswith(_QUICKSIGHT) or subject.type.endswith("RefreshSchedule"):
        return
    kind = subject.type.removeprefix(_QUICKSIGHT)
    yield from dashboard.problems(kind, subject.get("Permissions") or [], subject.facts.account)
    if subject.get("LinkSharingConfiguration"):
        yield "is shared by link: name who sees it"
