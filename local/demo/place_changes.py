"""The changes of `make demo-query`: those of Stafford's article, corrected, and a renamed city.

docs/your-database/kafka-connect.md says what was wrong with them. The new country and city get the numbers 110 and 601.
"""

from local.demo.change import AffectedRows, Change, only

COUNTRY, CITY = "Wakanda", "Birnin Zana"
_NEW_CITY = f"SELECT city_id FROM public.city WHERE city = '{CITY}'"
# Each of them has address 104, and keeps it from being deleted.
PEOPLE = ("customer", "staff", "store")
_CITY_OF_100 = "SELECT city_id FROM public.address WHERE address_id = 100"


def _address(number: int, *shows: str) -> AffectedRows:
    return AffectedRows(what="address", keys=only(number), shows=shows)


def _place(number: int, *shows: str) -> AffectedRows:
    """Return a row of the join."""
    return AffectedRows(what="address_place", keys=only(number), shows=shows)


CHANGES = (
    Change(
        name="another street for address 100",
        statements=("UPDATE public.address SET address = '123 CDC Test Lane' WHERE address_id = 100",),
        reaches=(_address(100, "address"), _place(100, "address", "city")),
    ),
    Change(
        name="an apartment for address 101",
        statements=("UPDATE public.address SET address2 = 'Apartment #2201' WHERE address_id = 101",),
        reaches=(_address(101, "address2"),),
    ),
    Change(
        name="another apartment for address 101",
        statements=("UPDATE public.address SET address2 = 'Apartment #2202' WHERE address_id = 101",),
        reaches=(_address(101, "address2"),),
    ),
    Change(
        name=f"insert {COUNTRY} and {CITY}",
        statements=(
            f"INSERT INTO public.country (country) VALUES ('{COUNTRY}')",
            f"INSERT INTO public.city (city, country_id) SELECT '{CITY}', country_id FROM public.country"
            f" WHERE country = '{COUNTRY}'",
        ),
        reaches=(
            AffectedRows(
                what="country",
                keys=f"SELECT country_id FROM public.country WHERE country = '{COUNTRY}'",
                shows=("country",),
            ),
            AffectedRows(what="city", keys=_NEW_CITY, shows=("city", "country_id")),
        ),
    ),
    Change(
        name=f"move address 102 to {CITY}",
        statements=(
            f"UPDATE public.address SET city_id = ({_NEW_CITY}), phone = '110601102', district = 'Lake Turkana'"
            " WHERE address_id = 102",
        ),
        reaches=(_address(102, "city_id", "phone", "district"), _place(102, "district", "city", "country")),
    ),
    Change(
        name="move all from 104, delete it",
        statements=(
            *(f"UPDATE public.{table} SET address_id = 200 WHERE address_id = 104" for table in PEOPLE),
            "DELETE FROM public.address WHERE address_id = 104",
        ),
        reaches=(_address(104, "address"), _place(104, "address")),
    ),
    Change(
        name="rename the city of address 100",
        statements=(f"UPDATE public.city SET city = 'Augusta' WHERE city_id = ({_CITY_OF_100})",),
        reaches=(
            AffectedRows(what="city", keys=_CITY_OF_100, shows=("city",)),
            _place(100, "address", "city"),
        ),
    ),
)
