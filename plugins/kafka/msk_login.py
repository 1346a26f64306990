"""Logs a librdkafka client in to MSK: with IAM, over TLS, using the AWS credentials that it runs under.

Amazon MSK developer guide, "Configure clients to use IAM access control", for clients in other languages than Java.
"""

import functools

from aws_msk_iam_sasl_signer import MSKAuthTokenProvider
from botocore.exceptions import BotoCoreError

from contract.errors import UserError

MS_PER_S = 1000


class NoCredentialsError(UserError):
    """There are no AWS credentials to sign a login with."""


def login(region: str, _configuration: str = "") -> tuple[str, float]:
    """Return a token for MSK in a region, and its expiry, in s since 1970. Raises NoCredentialsError."""
    try:
        token, expires_ms = MSKAuthTokenProvider.generate_auth_token(region)
    except (AttributeError, ValueError, BotoCoreError) as error:
        # The signer doesn't handle missing credentials.
        raise NoCredentialsError(str(error)) from error
    return token, expires_ms / MS_PER_S


def settings(region: str) -> dict[str, object]:
    """Return librdkafka's settings, which calls for another token before one expires."""
    sign = functools.partial(login, region)
    return {"security.protocol": "SASL_SSL", "sasl.mechanisms": "OAUTHBEARER", "oauth_cb": sign}
