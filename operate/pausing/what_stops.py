"""What a pause switches off, by CloudFormation's types: the commands stop these, the costs leave out their hours.

Everything else goes on and is paid for: MSK can't be stopped, and topics, tables and disks are what a pause keeps.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Stopping:
    """A part that is off in a pause: `what` as people call it, `type` of the resources that are paid by the hour."""

    what: str
    type: str


# Aurora's storage stays: only its instances stop, all of a cluster at once.
AURORA = Stopping(what="Aurora's instances", type="AWS::RDS::DBInstance")
CONNECTORS = Stopping(what="MSK Connect", type="Custom::Connector")
# Auto Mode has nodes for what runs on them; the cluster itself goes on.
NODES = Stopping(what="EKS's nodes", type="Custom::KubernetesConnector")
EMR = Stopping(what="EMR", type="AWS::EMR::Cluster")
# In a pause's order, which is the events': nothing stays behind where it expires. A resume begins at the other end.
WHAT_STOPS = (CONNECTORS, NODES, EMR, AURORA)
