"""Reads how to log in from AWS Secrets Manager, from a secret in the form that RDS and Aurora use."""

import json
from collections.abc import Mapping

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError

from db.errors import LoadError

# Seconds and attempts: the AWS command line's defaults would keep a user waiting for minutes.
CLIENT_CONFIG = Config(connect_timeout=5, read_timeout=10, retries={"mode": "standard", "max_attempts": 3})
# The secret's keys → psycopg2's.
_KEYS = {"host": "host", "port": "port", "username": "user", "password": "password", "dbname": "dbname"}
_HINTS = {
    "ResourceNotFoundException": "check its name and the region",
    "AccessDeniedException": "ask for secretsmanager:GetSecretValue on it",
    "InvalidRequestException": "it may be marked for deletion",
    "DecryptionFailure": "ask for kms:Decrypt on its key",
    "ExpiredTokenException": "log in to AWS again",
    "UnrecognizedClientException": "log in to AWS again",
}


def connection_parameters(secret_id: str) -> dict[str, str | int]:
    """Return what the secret says of host, port, user, password and dbname, in psycopg2's words.

    Region and credentials are found the way that boto3 finds them. Raises LoadError with one line; it never repeats
    what is in the secret.
    """
    values = _values(secret_id)
    parameters: dict[str, str | int] = {
        ours: str(values[theirs]) for theirs, ours in _KEYS.items() if values.get(theirs) not in (None, "")
    }
    if missing := [key for key in ("user", "password") if key not in parameters]:
        raise LoadError(f"the secret {secret_id} has no {' and no '.join(missing)}: it must be JSON as RDS writes it")
    if "port" in parameters:
        parameters["port"] = _port(secret_id, str(parameters["port"]))
    return parameters


def _values(secret_id: str) -> Mapping[str, object]:
    try:
        client = boto3.client("secretsmanager", config=CLIENT_CONFIG)
        text = client.get_secret_value(SecretId=secret_id).get("SecretString", "")
    except ClientError as error:
        raise LoadError(f"cannot read the secret {secret_id}: {_explain(error)}") from error
    except NoRegionError as error:
        raise LoadError("no AWS region: set AWS_REGION, or choose a profile with AWS_PROFILE") from error
    except NoCredentialsError as error:
        raise LoadError("no AWS credentials: log in, or choose a profile with AWS_PROFILE") from error
    except BotoCoreError as error:
        raise LoadError(f"cannot read the secret {secret_id}: {' '.join(str(error).split())}") from error
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        # `from` would bring the text along.
        raise LoadError(f"the secret {secret_id} isn't a JSON object: it must be as RDS writes it") from None
    return values


def _explain(error: ClientError) -> str:
    details = error.response.get("Error", {})
    hint = _HINTS.get(details.get("Code", ""))
    return " ".join(details.get("Message", str(error)).split()).rstrip(".") + (f" ({hint})" if hint else "")


def _port(secret_id: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65_535:
        raise LoadError(f"the secret {secret_id} has a port that isn't a number from 1 to 65535")
    return int(text)
