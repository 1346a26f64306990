"""Stops and starts Aurora, which CloudFormation can't.

AWS automatically starts a stopped cluster after seven days (Aurora user guide, "Stopping and starting an Amazon Aurora
DB cluster"); the cluster shows when. Storage stays, and with it the replication slots and their WAL.
"""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from operate.errors import OperateError
from operate.pausing.waiting import Waiter

if TYPE_CHECKING:
    from mypy_boto3_rds import RDSClient
    from mypy_boto3_rds.type_defs import DBClusterTypeDef

STOPPED, AVAILABLE = "stopped", "available"
# A running backup or change ends first; a start takes minutes.
LIMIT_S = 3_600.0
# Only a person can resolve these.
_STUCK = ("cloning-failed", "deleting", "failed", "inaccessible-encryption-credentials", "migration-failed")


class Aurora:
    """The environment's cluster. Methods raise OperateError, and botocore's errors."""

    def __init__(self, rds: "RDSClient", identifier: str, waiter: Waiter) -> None:
        self._rds = rds
        self._identifier = identifier
        self._waiter = waiter

    def status(self) -> str:
        return self._cluster()["Status"]

    def starts_by_itself(self) -> datetime | None:
        """Return when AWS will start the stopped cluster; None if it doesn't say."""
        return self._cluster().get("AutomaticRestartTime")

    def stop(self) -> None:
        """Stop it from any state; return once it is stopped."""
        self._bring("stop", STOPPED, AVAILABLE, self._rds.stop_db_cluster)

    def start(self) -> None:
        """Start it from any state; return once its writer accepts connections."""
        self._bring("start", AVAILABLE, STOPPED, self._rds.start_db_cluster)

    def _bring(self, what: str, wanted: str, other: str, ask: Callable[..., object]) -> None:
        if left := self._waiter.wait(lambda: self._short_of(wanted, other, ask), limit_s=LIMIT_S):
            raise OperateError(
                f"{left}, for {LIMIT_S / 60:.0f} minutes now: it didn't {what}; RDS's events say more; then run this"
                " again"
            )

    def _short_of(self, wanted: str, other: str, ask: Callable[..., object]) -> str | None:
        """Say how far it is from the wanted status, None once it has it; `ask` for it in the other one."""
        database, status = f"the database {self._identifier}", self.status()
        if status.startswith(_STUCK):
            raise OperateError(f"{database} is {status}: repair it first, then run this again")
        if status == wanted:
            return self._writer_not_ready() if wanted == AVAILABLE else None
        if status == other:
            faults = self._rds.exceptions
            try:
                ask(DBClusterIdentifier=self._identifier)
            except (faults.InvalidDBClusterStateFault, faults.InvalidDBInstanceStateFault):
                # Another operation has begun meanwhile, or an instance doesn't exist yet.
                return f"{database} doesn't take it now"
            status = "stopping" if wanted == STOPPED else "starting"
        return f"{database} is {status}"

    def _writer_not_ready(self) -> str | None:
        members = self._cluster().get("DBClusterMembers", [])
        writer = next((member["DBInstanceIdentifier"] for member in members if member["IsClusterWriter"]), None)
        if writer is None:
            return f"the database {self._identifier} has no writer"
        [found] = self._rds.describe_db_instances(DBInstanceIdentifier=writer)["DBInstances"]
        status = found["DBInstanceStatus"]
        return None if status == AVAILABLE else f"the database's writer {writer} is {status}"

    def _cluster(self) -> "DBClusterTypeDef":
        try:
            [found] = self._rds.describe_db_clusters(DBClusterIdentifier=self._identifier)["DBClusters"]
        except self._rds.exceptions.DBClusterNotFoundFault:
            raise OperateError(f"there is no database {self._identifier} in this account and region") from None
        return found
