from operate.costs.bill import NODES, WHAT_STOPS
from operate.diff import snapshots
from settings.load import load


def test_what_stops_is_something_that_the_stacks_have() -> None:
    templates = snapshots.read(load("dev")).values()
    made = {resource["Type"] for template in templates for resource in template["Resources"].values()}
    # tests/operate/pausing/test_on_eks.py covers connectors on EKS.
    assert {each.type for each in WHAT_STOPS if each is not NODES} <= made
