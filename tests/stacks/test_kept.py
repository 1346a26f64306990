"""What outlives its stack in prod: nothing blocks the next attempt, and kept resources can be imported again."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.stacks.conftest import Synthesized

pytestmark = pytest.mark.synth

KEPT = "RetainExceptOnCreate"


def resources(environment: Synthesized) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every resource with its stack's role and its logical id."""
    for role, template in environment.by_role.items():
        for logical_id, resource in template.to_json()["Resources"].items():
            yield role, logical_id, resource


def test_nothing_is_kept_from_a_creation_that_failed(dev: Synthesized, prod: Synthesized) -> None:
    """If kept under its fixed name, it would block every further attempt."""
    for environment in (dev, prod):
        policies = {resource.get("DeletionPolicy", "Delete") for _, _, resource in resources(environment)}
        assert policies <= {"Delete", KEPT}


def test_what_is_kept_is_kept_when_it_is_replaced_too(prod: Synthesized) -> None:
    kept = [(role, name, r) for role, name, r in resources(prod) if r.get("DeletionPolicy") == KEPT]
    assert len(kept) > 20
    assert [(role, name) for role, name, resource in kept if resource["UpdateReplacePolicy"] != "Retain"] == []


def test_dev_keeps_nothing(dev: Synthesized) -> None:
    assert not any(resource.get("DeletionPolicy") == KEPT for _, _, resource in resources(dev))


def test_what_is_kept_needs_nothing_that_goes(prod: Synthesized) -> None:
    """A kept cluster in a deleted group could neither be deleted nor be imported into a new stack alone."""
    for role, template in prod.by_role.items():
        found = template.to_json()["Resources"]
        kept = {name for name, resource in found.items() if resource.get("DeletionPolicy") == KEPT}
        for name in kept:
            needed = {other for other in found if f'"{other}"' in json.dumps(found[name])}
            assert needed <= kept, f"{role}/{name} needs {needed - kept}"


def test_prods_stacks_are_protected_from_deletion_and_devs_are_not(dev: Synthesized, prod: Synthesized) -> None:
    for environment, protected in ((dev, {False}), (prod, {True})):
        manifest = json.loads((environment.synthesis.folder / "manifest.json").read_text())
        stacks = [each for each in manifest["artifacts"].values() if each["type"] == "aws:cloudformation:stack"]
        assert len(stacks) == len(environment.by_role)
        assert {stack["properties"].get("terminationProtection", False) for stack in stacks} == protected
