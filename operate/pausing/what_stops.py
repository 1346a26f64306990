"""What a pause switches off, by CloudFormation type: the commands stop these, the costs omit their hours.

Everything else keeps running and is billed: MSK can't be stopped, and a pause keeps topics, tables and disks.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Stopping:
    """A part that is off in a pause: `what` people call it, `type` of the resources that are billed by the hour."""

    what: str
    type: str


# Aurora's storage stays: only its instances stop, all of a cluster at once.
AURORA = Stopping(what="Aurora's instances", type="AWS::RDS::DBInstance")
CONNECTORS = Stopping(what="MSK Connect", type="Custom::Connector")
# Auto Mode has nodes for its workloads; the cluster itself keeps running.
NODES = Stopping(what="EKS's nodes", type="Custom::KubernetesConnector")
EMR = Stopping(what="EMR", type="AWS::EMR::Cluster")
# In a pause's order, which follows the events: nothing is left where it expires. A resume begins at the other end.
WHAT_STOPS = (CONNECTORS, NODES, EMR, AURORA)
