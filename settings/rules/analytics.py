"""Rules for analysts: QuickSight's and Lake Formation's principals, and the data to show."""

from collections.abc import Iterator

from analytics.dashboard import account_of
from analytics.tables import CUSTOMER_ADDRESSES, LANDED, QUARANTINE
from settings.environment import Environment
from settings.rules.problem import Problem

_SNAPSHOTS = "customers' snapshots"
_DECLARED = {
    QUARANTINE.name: "what is set aside",
    LANDED.name: "events as they have landed",
    CUSTOMER_ADDRESSES.name: _SNAPSHOTS,
    # stacks/job_steps.py names a step and a file so.
    "tables": "the step of all tables that share one",
}


def principals(environment: Environment) -> Iterator[Problem]:
    """Require that readers get access and are of the account, as the dashboard's user or group, and orders to show."""
    settings = environment.analytics
    key = "analytics.lake_formation_readers"
    for reader in settings.lake_formation_readers:
        if f"::{environment.account}:" not in reader:
            yield key, f"{reader} is of another account than {environment.account}"
    if (principal := settings.quicksight_principal) is None:
        return
    key, account = "analytics.quicksight_principal", account_of(principal)
    if account is None:
        yield (
            key,
            f"{principal!r} is no user or group of QuickSight: `aws quicksight list-groups --namespace default` shows "
            f"ARNs such as arn:aws:quicksight:us-east-1:{environment.account}:group/default/analysts",
        )
    elif account != environment.account:
        yield key, f"{principal} is of another account than {environment.account}, whose data it would see"
    if environment.outbox is None:
        yield key, "the dashboard shows the outbox's orders, which no pipeline here captures: take this out"


def declared_tables(environment: Environment) -> Iterator[Problem]:
    """Refuse a table of a pipeline with the name of another thing of the environment."""
    for number, pipeline in enumerate(environment.pipelines):
        names = pipeline.captured.lake_tables
        for declared, what in _DECLARED.items():
            # A further pipeline's snapshots have its name as a suffix.
            if any(name == declared or (what is _SNAPSHOTS and name.startswith(declared)) for name in names):
                yield (
                    f"pipelines[{number}].name",
                    f"{pipeline.name} has a table that would be {declared} in the lake, which is that of {what}: give "
                    "it another lake_table",
                )
