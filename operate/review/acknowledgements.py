"""Findings that were acknowledged: by reason, with what was found and where."""

from dataclasses import dataclass

from operate.review.material import Material, siblings, unique
from operate.review.words import rule_in_words

WILDCARD = "AwsSolutions-IAM5"


@dataclass(frozen=True, kw_only=True)
class Reason:
    """One reason: the findings that it explains, by rule, how many they are, and the constructs that have them."""

    reason: str
    rules: tuple[str, ...]
    count: int
    places: tuple[str, ...]

    @property
    def of_wildcards(self) -> bool:
        """Whether it is why a right has a wildcard, and stands beside that right, too."""
        return all(rule.startswith(f"{WILDCARD}:") for rule in self.rules)


def acknowledgements(material: Material) -> tuple[Reason, ...]:
    """Put together what one reason explains, the one with the most findings first."""
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
