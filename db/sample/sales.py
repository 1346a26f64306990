"""Orders and their lines, in blocks of 829."""

import datetime
import math
import random
from collections.abc import Sequence
from typing import TypeVar

from db.sample.customers import RATTC, RICSU, VINET, WITHOUT_ORDERS
from db.tables import WALK_THROUGH_ORDER, Row

FIRST_ORDER, LAST_ORDER = 10248, 11077
ORDERS_PER_BLOCK = LAST_ORDER - FIRST_ORDER  # all ids but the walk-through's
FIRST_DAY, LAST_DAY = datetime.date(1996, 7, 4), datetime.date(1998, 5, 6)
UNSHIPPED = 20
_RECENT = 70  # unshipped orders are among so many newest
_DAYS_TO_DELIVER = 28
_LONGEST_HISTORY_DAYS = 3650  # more orders than that many days hold make the days busier, not the future longer

# How many orders of a block have so many lines.
_BLOCK_LINES = {1: 137, 2: 283, 3: 247, 4: 125, 5: 33, 6: 3, 25: 1}
LINES_PER_BLOCK = sum(lines * orders for lines, orders in _BLOCK_LINES.items())

_DISCOUNTS, _DISCOUNT_WEIGHTS = (0, 0.05, 0.1, 0.15, 0.2, 0.25), (61, 9, 8, 7, 8, 7)
_EMPLOYEE_WEIGHTS = (15, 12, 15, 19, 5, 8, 9, 12, 5)
_SHIPPER_WEIGHTS = (30, 39, 31)
_FIRST_LINES = ((11, 14.0, 12), (42, 9.8, 10), (72, 34.8, 5))  # product, price, quantity of order 10248
_BIG_CUSTOMERS, _PICKY_CUSTOMERS = 3, 5


Value = TypeVar("Value")


class Sales:
    """Makes blocks of orders. Three customers buy often and much, five seldom and dear, the others in between."""

    def __init__(self, seed: int, scale: int, customers: Sequence[Row], products: Sequence[Row]) -> None:
        self._seed = seed
        self._scale = scale
        self._products = {int(str(row[0])): float(str(row[5])) for row in products}
        dearest = sorted(self._products, key=lambda key: (-self._products[key], key))
        self._dear_products = dearest[: len(dearest) // 5]
        source = random.Random(f"{seed}/buyers")  # noqa: S311 - sample data, no secret
        self._customers = {str(row[0]): row for row in customers}
        others = [key for key in self._customers if key not in (VINET, RATTC, RICSU)]
        source.shuffle(others)
        self._big = set(others[:_BIG_CUSTOMERS])
        self._picky = set(others[_BIG_CUSTOMERS : _BIG_CUSTOMERS + _PICKY_CUSTOMERS])
        self._buyers = sorted(self._customers.keys() - set(others[-WITHOUT_ORDERS:]))
        self._weights = [self._weight(source, key) for key in self._buyers]

    def block(self, number: int) -> tuple[list[Row], list[Row]]:
        """Return the orders and the lines of a block; block 0 has the ids 10248 to 11077 without 11075."""
        source = random.Random(f"{self._seed}/block {number}")  # noqa: S311 - sample data, no secret
        keys = _order_ids(number)
        buyers = self._buyers_of_block(source)
        sizes = [lines for lines, orders in _BLOCK_LINES.items() for _ in range(orders)]
        source.shuffle(sizes)
        if number == 0:
            _move(buyers, VINET, 0)
            _move(buyers, RATTC, len(keys) - 1)
            _move(sizes, 3, 0)
            _move(sizes, 25, len(keys) - 1)
        unshipped = {*source.sample(keys[-_RECENT:-1], UNSHIPPED - 1), keys[-1]}
        orders, lines = [], []
        for position, (key, buyer, size) in enumerate(zip(keys, buyers, sizes, strict=True)):
            day = self._day(number, position)
            orders.append(_named_order(self._order(source, key, buyer, day, shipped=key not in unshipped)))
            lines += _named_lines(key) or self._lines(source, key, buyer, size)
        return orders, lines

    def _weight(self, source: random.Random, customer: str) -> float:
        if customer in self._big:
            return 30.0
        return 1.0 if customer in self._picky else source.uniform(4.0, 14.0)

    def _buyers_of_block(self, source: random.Random) -> list[str]:
        """Every buyer orders at least once."""
        rest = source.choices(self._buyers, self._weights, k=ORDERS_PER_BLOCK - len(self._buyers))
        buyers = [*self._buyers, *rest]
        source.shuffle(buyers)
        return buyers

    def _day(self, block: int, position: int) -> datetime.date:
        """Spread a block evenly: the first over its 22 months, the others over the years after them."""
        span = (LAST_DAY - FIRST_DAY).days
        done = position / (ORDERS_PER_BLOCK - 1)
        if block == 0:
            return FIRST_DAY + datetime.timedelta(days=round(done * span))
        later_blocks = self._scale - 1
        days = min(later_blocks * span, _LONGEST_HISTORY_DAYS)
        return LAST_DAY + datetime.timedelta(days=math.ceil((block - 1 + done) / later_blocks * days))

    def _order(self, source: random.Random, key: int, buyer: str, day: datetime.date, *, shipped: bool) -> Row:
        _, name, _, _, *address = self._customers[buyer][:9]
        sent = day + datetime.timedelta(days=source.randint(1, 21))
        return (
            key,
            buyer,
            source.choices(range(1, 10), _EMPLOYEE_WEIGHTS)[0],
            day.isoformat(),
            (day + datetime.timedelta(days=_DAYS_TO_DELIVER)).isoformat(),
            sent.isoformat() if shipped else None,
            source.choices(range(1, 4), _SHIPPER_WEIGHTS)[0],
            round(source.lognormvariate(3.6, 1.1), 2),
            name,
            *address,
        )

    def _lines(self, source: random.Random, key: int, buyer: str, size: int) -> list[Row]:
        choice = (
            self._dear_products if buyer in self._picky and size < len(self._dear_products) else list(self._products)
        )
        most = 120 if buyer in self._big else 50
        return [
            (
                key,
                product,
                self._products[product],
                max(1, round(source.triangular(1, most, most / 3))),
                source.choices(_DISCOUNTS, _DISCOUNT_WEIGHTS)[0],
            )
            for product in sorted(source.sample(choice, size))
        ]


def _order_ids(block: int) -> list[int]:
    if block == 0:
        return [key for key in range(FIRST_ORDER, LAST_ORDER + 1) if key != WALK_THROUGH_ORDER]
    start = LAST_ORDER + 1 + (block - 1) * ORDERS_PER_BLOCK
    return list(range(start, start + ORDERS_PER_BLOCK))


def _move(values: list[Value], value: Value, position: int) -> None:
    """Exchange two entries so that `value` stands at `position`."""
    found = values.index(value)
    values[found], values[position] = values[position], values[found]


def _named_order(order: Row) -> Row:
    """Put in what of the first and the last order is taken over (docs/decisions/0013)."""
    if order[0] == FIRST_ORDER:
        return (*order[:2], 5, "1996-07-04", "1996-08-01", "1996-07-16", 3, 32.38, *order[8:])
    if order[0] == LAST_ORDER:
        return (*order[:6], 2, *order[7:])
    return order


def _named_lines(order: int) -> list[Row]:
    """Return the lines of the order whose lines are taken over; prices have risen since."""
    if order != FIRST_ORDER:
        return []
    return [(order, product, price, quantity, 0) for product, price, quantity in _FIRST_LINES]
