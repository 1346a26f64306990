"""The sink's errors; each message is one line."""

from contract.errors import UserError


class SinkError(UserError):
    """The sink can't continue and a person must decide. Nothing is lost: what isn't landed isn't committed either."""


class UnavailableError(RuntimeError):
    """S3 or Kafka doesn't answer, or not now: trying again helps."""


class MalformedValueError(ValueError):
    """A record's value can't be landed as it is."""
