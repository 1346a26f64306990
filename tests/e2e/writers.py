"""Businesses that continue during faults, snapshots and repairs: random but repeatable transactions in a thread."""

import contextlib
import random
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import psycopg2

MAX_WAIT_S = 120.0
RECONNECT_S = 0.2


class Business:
    """Makes transactions in a thread, about `rate` a second; leaving the context waits for its end.

    It makes `transactions` of them, or goes on until the context is left. What ends it early is raised there, and where
    somebody waits for it. A `patient` one reconnects for up to MAX_WAIT_S when the database disappears, with the
    `parameters` of that moment; it can't know whether the transaction then running was committed, and makes another
    one.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any],
        *,
        rate: float,
        seed: int,
        transactions: int | None = None,
        patient: bool = False,
    ) -> None:
        self.parameters = parameters
        self.made = 0
        self._transactions = transactions
        self._max_wait_s = MAX_WAIT_S if patient else 0.0
        self._pause_s = 1 / rate
        self._random = random.Random(seed)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._thread.join()
        self._raise()

    def wait_for(self, transactions: int) -> None:
        while self.made < transactions and self._thread.is_alive():
            time.sleep(0.05)
        self._raise()

    def hurry(self) -> None:
        """Make the rest without pauses, once nothing else is to happen meanwhile: each commit of the job costs CPU."""
        self._pause_s = 0.0

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    @property
    def _goes_on(self) -> bool:
        return not self._closing.is_set() if self._transactions is None else self.made < self._transactions

    def _run(self) -> None:
        failing_since: float | None = None
        while self._goes_on and self._error is None:
            made = self.made
            try:
                self._write()
            except BaseException as error:  # noqa: BLE001  (handed to the test's thread)
                now = time.monotonic()
                failing_since = now if failing_since is None or self.made > made else failing_since
                is_away = isinstance(error, psycopg2.OperationalError | psycopg2.InterfaceError)
                if is_away and now - failing_since < self._max_wait_s:
                    time.sleep(RECONNECT_S)
                else:
                    self._error = error

    def _write(self) -> None:
        """Make transactions on one connection until all are done."""
        with contextlib.closing(psycopg2.connect(**self.parameters)) as connection:
            while self._goes_on:
                with connection, connection.cursor() as cursor:
                    self._transact(cursor)
                self.made += 1
                time.sleep(self._pause_s)

    def _transact(self, cursor: Any) -> None:
        raise NotImplementedError


class Writer(Business):
    """Changes orders, their items and a customer. Orders from `first_order` on are its own."""

    def __init__(self, parameters: Mapping[str, Any], *, first_order: int, **options: Any) -> None:
        super().__init__(parameters, seed=first_order, **options)
        self._next_order = first_order
        self._ours: list[int] = []

    def _transact(self, cursor: Any) -> None:
        weights = {self._insert: 45, self._update: 25, self._delete: 20, self._rename: 10}
        [chosen] = self._random.choices([*weights], [*weights.values()]) if len(self._ours) >= 5 else [self._insert]
        chosen(cursor)

    def _insert(self, cursor: Any) -> None:
        order, self._next_order = self._next_order, self._next_order + 1
        cursor.execute(
            "INSERT INTO datalake.orders (order_id, customer_id, employee_id, order_date, ship_via, freight)"
            " SELECT %s, customer_id, %s, '1998-05-06', %s, %s FROM datalake.customers"
            " ORDER BY customer_id LIMIT 1 OFFSET %s",
            (order, *(self._random.randint(1, most) for most in (9, 3, 500, 90))),
        )
        for product in self._random.sample(range(1, 78), 3):
            cursor.execute(
                "INSERT INTO datalake.order_details VALUES (%s, %s, 9.5, %s, 0)",
                (order, product, self._random.randint(1, 40)),
            )
        self._ours.append(order)

    def _update(self, cursor: Any) -> None:
        cursor.execute(
            "UPDATE datalake.order_details SET quantity = quantity + 1 WHERE order_id = %s",
            (self._random.choice(self._ours),),
        )

    def _delete(self, cursor: Any) -> None:
        order = self._ours.pop(self._random.randrange(len(self._ours)))
        cursor.execute("DELETE FROM datalake.order_details WHERE order_id = %s", (order,))
        cursor.execute("DELETE FROM datalake.orders WHERE order_id = %s", (order,))

    def _rename(self, cursor: Any) -> None:
        """Touch all orders of a customer, each time of another one: rows that always change are late in each look."""
        cursor.execute(
            "UPDATE datalake.customers SET contact_name = %s WHERE customer_id ="
            " (SELECT customer_id FROM datalake.customers ORDER BY customer_id LIMIT 1 OFFSET %s)",
            (f"Contact {self.made}", self._random.randrange(91)),
        )


# Customers per transaction. Few large ones: each separate transaction makes the job commit three tables.
SERVED = 5
CUSTOMERS, ITEMS, RENTALS, PAYMENTS = (20, 599), (1, 4_000), (1, 16_000), (16_050, 32_098)


class Clerk(Business):
    """Rents films, takes them back and corrects records, until the context ends.

    Transactions are random but repeatable. Customers below 20 are left alone.
    """

    def _transact(self, cursor: Any) -> None:
        for _ in range(SERVED):
            self._serve(cursor)

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


class Registry(Business):
    """Enters addresses, corrects and removes its own, and renames cities."""

    def __init__(self, parameters: Mapping[str, Any], **options: Any) -> None:
        super().__init__(parameters, **options)
        self._ours: list[int] = []

    def _transact(self, cursor: Any) -> None:
        cursor.execute(
            "INSERT INTO address (address, district, city_id, phone) VALUES (%s, 'Registry', %s, '')"
            " RETURNING address_id",
            (f"Street {self.made}", self._random.randint(1, 500)),
        )
        self._ours.append(cursor.fetchone()[0])
        cursor.execute("UPDATE address SET phone = phone || '1' WHERE address_id = %s", (self._chosen(),))
        cursor.execute(
            "UPDATE city SET city = %s WHERE city_id = %s", (f"City {self.made}", self._random.randint(1, 500))
        )
        if len(self._ours) > 5:
            gone = self._chosen()
            self._ours.remove(gone)
            cursor.execute("DELETE FROM address WHERE address_id = %s", (gone,))

    def _chosen(self) -> int:
        return self._random.choice(self._ours)
