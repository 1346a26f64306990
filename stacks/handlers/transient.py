"""What AWS's answers mean: which errors pass by themselves, so that a call is worth repeating."""

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as AWSConnectionError

# What a call of AWS may raise that `retry_reason` judges.
CALL_ERRORS = (ClientError, HTTPClientError, AWSConnectionError)
# Throttling and passing errors as botocore's standard retry mode knows them (botocore/retries/standard.py), and the
# names that MSK Connect, EMR, S3 and Secrets Manager give an error of their own. Any answer of 429 or 5xx counts, too.
_TRANSIENT = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "InternalError",
        "InternalFailure",
        "InternalServerError",
        "InternalServerErrorException",
        "InternalServerException",
        "InternalServiceError",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
_TRANSIENT_STATUS = frozenset({429, 500, 502, 503, 504})


def error_code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def retry_reason(error: Exception) -> str | None:
    """What failed, when it failed for a moment's reasons (AWS is busy or can't be reached); else None."""
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        if error_code(error) in _TRANSIENT or status in _TRANSIENT_STATUS:
            return f"{error.operation_name} again after {error_code(error)}"
    unreachable = isinstance(error, CALL_ERRORS) and not isinstance(error, ClientError)
    return f"AWS again after {type(error).__name__}" if unreachable else None
