"""Acknowledged findings, by reason: what was found and where."""

from dataclasses import dataclass

from operate.review.material import Material, siblings, unique
from operate.review.words import rule_in_words

WILDCARD = "AwsSolutions-IAM5"


@dataclass(frozen=True, kw_only=True)
class Reason:
    """One reason: the rules and number of the findings that it explains, and the constructs that have them."""

    reason: str
    rules: tuple[str, ...]
    count: int
    places: tuple[str, ...]

    @property
    def of_wildcards(self) -> bool:
        """Whether it explains a right's wildcard, and is therefore also shown with that right."""
        return all(rule.startswith(f"{WILDCARD}:") for rule in self.rules)


def acknowledgements(material: Material) -> tuple[Reason, ...]:
    """Group findings by reason, the reason with the most findings first."""
    found: dict[str, list[tuple[str, str]]] = {}
    for each in material.acknowledged:
        found.setdefault(each.reason, []).append((rule_in_words(each.rule), material.path_name(each.construct)))
    reasons = [
        Reason(
            reason=reason,
            rules=unique(sorted(rules for rules, _ in same)),
            count=len(same),
            places=siblings(place for _, place in same),
        )
        for reason, same in found.items()
    ]
    return tuple(sorted(reasons, key=lambda each: (-each.count, each.reason)))
