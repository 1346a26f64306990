"""What can go wrong in the sink; each message is one line."""

from contract.errors import UserError


class SinkError(UserError):
    """The sink can't go on and a person must decide. Nothing is lost: what isn't landed isn't committed either."""


class UnavailableError(RuntimeError):
    """S3 or Kafka doesn't answer, or not now: trying again helps."""


class StoreUnavailableError(UnavailableError):
    """It is S3 that doesn't answer."""


class RevokedError(RuntimeError):
    """The partition may belong to another member now: what is open of it is dropped, its owner reads it again."""


class MalformedValueError(ValueError):
    """A record's value can't be made a line, or has no folder."""
