"""What outlives its stack, and how long logs are kept: an environment's settings in CDK's words."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_logs as logs

from settings.environment import Environment

_RETENTION = {
    1: logs.RetentionDays.ONE_DAY,
    3: logs.RetentionDays.THREE_DAYS,
    5: logs.RetentionDays.FIVE_DAYS,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    60: logs.RetentionDays.TWO_MONTHS,
    90: logs.RetentionDays.THREE_MONTHS,
    120: logs.RetentionDays.FOUR_MONTHS,
    150: logs.RetentionDays.FIVE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
    400: logs.RetentionDays.THIRTEEN_MONTHS,
    545: logs.RetentionDays.EIGHTEEN_MONTHS,
    731: logs.RetentionDays.TWO_YEARS,
    1827: logs.RetentionDays.FIVE_YEARS,
    3653: logs.RetentionDays.TEN_YEARS,
}


def keeps(environment: Environment) -> bool:
    return environment.removal_policy == "retain"


def removal(environment: Environment) -> RemovalPolicy:
    """What happens to data when its stack is deleted.

    What is kept isn't when the operation that created it is rolled back (`RetainExceptOnCreate`): nothing is in it yet,
    and its name would block the next attempt.
    """
    return RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if keeps(environment) else RemovalPolicy.DESTROY


def retention(days: int) -> logs.RetentionDays:
    """CloudWatch Logs' name for a number of days that settings.section.LogRetention allows."""
    return _RETENTION[days]
