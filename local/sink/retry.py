"""Tries again what S3 or Kafka didn't answer, for as long as it takes."""

import logging
from collections.abc import Callable
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type, wait_exponential

from local.sink.errors import UnavailableError

LOG = logging.getLogger("sink")
FIRST_WAIT_S, LONGEST_WAIT_S = 0.2, 5.0

T = TypeVar("T")


class Retry:
    """Repeats an action until it works.

    `pause` lets seconds pass and may raise to give the action up; `gave_up` says, by what the last try raised, that no
    more are wanted: that UnavailableError is raised then. `works_again` is called when an action worked after it had
    failed.
    """

    def __init__(
        self,
        *,
        pause: Callable[[float], None],
        gave_up: Callable[[BaseException], bool],
        works_again: Callable[[], None],
    ) -> None:
        self._works_again = works_again
        self._failed = False
        self._retrying = Retrying(
            retry=retry_if_exception_type(UnavailableError),
            wait=wait_exponential(multiplier=FIRST_WAIT_S, max=LONGEST_WAIT_S),
            stop=lambda state: gave_up(_error(state)),
            sleep=pause,
            before_sleep=self._warn,
            reraise=True,
        )

    def __call__(self, action: Callable[[], T]) -> T:
        """Do it; UnavailableError only when given up."""
        result = self._retrying(action)
        if self._failed:
            self._failed = False
            LOG.info("it works again")
            self._works_again()
        return result

    def _warn(self, state: RetryCallState) -> None:
        self._failed = True
        LOG.warning("attempt %d: %s", state.attempt_number, _error(state))


def _error(state: RetryCallState) -> BaseException:
    error = state.outcome.exception() if state.outcome else None
    assert error is not None  # noqa: S101  tenacity asks after a try that failed
    return error
