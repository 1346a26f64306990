"""Tells which AWS errors are transient, so that a retry makes sense."""

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as AWSConnectionError

# Errors of AWS calls that `retry_reason` judges.
CALL_ERRORS = (ClientError, HTTPClientError, AWSConnectionError)
# Throttling and transient errors of botocore's standard retry mode (botocore/retries/standard.py), and the names of
# MSK Connect's, EMR's, S3's and Secrets Manager's own. Any 429 or 5xx answer counts, too.
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
    """Return what failed if the error is transient (AWS is busy or out of reach); otherwise None."""
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        if error_code(error) in _TRANSIENT or status in _TRANSIENT_STATUS:
            return f"{error.operation_name} again after {error_code(error)}"
    unreachable = isinstance(error, CALL_ERRORS) and not isinstance(error, ClientError)
    return f"AWS again after {type(error).__name__}" if unreachable else None
