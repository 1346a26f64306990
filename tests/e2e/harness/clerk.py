"""A Pagila shop that stays open while its tables are added, re-read and repaired."""

import contextlib
import random
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import psycopg2

# Customers per transaction. Few large ones: each separate transaction makes the job commit three tables.
SERVED = 5
CUSTOMERS, ITEMS, RENTALS, PAYMENTS = (20, 599), (1, 4_000), (1, 16_000), (16_050, 32_098)


class Clerk:
    """Rents films, takes them back and corrects records, about `rate` times a second, until the context ends.

    Transactions are random but repeatable. Customers below 20 are left alone.
    """

    def __init__(self, parameters: Mapping[str, Any], *, rate: float, seed: int) -> None:
        self._parameters = parameters
        self._pause_s = 1 / rate
        self._random = random.Random(seed)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="clerk")
        self._error: BaseException | None = None
        self.made = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def wait_for_more(self, transactions: int) -> None:
        """Wait for this many more transactions."""
        wanted = self.made + transactions
        while self.made < wanted and self._thread.is_alive():
            time.sleep(0.05)

    def _run(self) -> None:
        try:
            with contextlib.closing(psycopg2.connect(**self._parameters)) as connection:
                while not self._closing.wait(self._pause_s):
                    with connection, connection.cursor() as cursor:
                        for _ in range(SERVED):
                            self._serve(cursor)
                    self.made += 1
        except BaseException as error:  # noqa: BLE001  (handed to the test's thread)
            self._error = error

    def _one_of(self, ids: tuple[int, int]) -> int:
        return self._random.randint(*ids)

    def _serve(self, cursor: Any) -> None:
        customer = self._one_of(CUSTOMERS)
        cursor.execute(
            "INSERT INTO rental (rental_date, inventory_id, customer_id, staff_id)"
            " VALUES (clock_timestamp(), %s, %s, 1) RETURNING rental_id",
            (self._one_of(ITEMS), customer),
        )
        (rental,) = cursor.fetchone()
        cursor.execute(
            "INSERT INTO payment (customer_id, staff_id, rental_id, amount, payment_date)"
            " VALUES (%s, 1, %s, 2.99, '2022-03-01Z'::timestamptz + %s * interval '1 hour')",
            (customer, rental, self._random.randint(0, 3_000)),
        )
        cursor.execute(
            "UPDATE rental SET return_date = clock_timestamp() WHERE rental_id = %s", (self._one_of(RENTALS),)
        )
        # Part of its key, and its partition.
        cursor.execute(
            "UPDATE payment SET payment_date = payment_date + interval '31 days'"
            " WHERE payment_date < '2022-06-01Z' AND payment_id = %s",
            (self._one_of(PAYMENTS),),
        )
        cursor.execute("DELETE FROM payment WHERE payment_id = %s", (self._one_of(PAYMENTS),))
        cursor.execute("UPDATE customer SET active = 1 - active WHERE customer_id = %s", (customer,))
