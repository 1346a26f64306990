"""Cities with what an address there looks like, and people."""

import random
from dataclasses import dataclass

from db.sample.words import FIRST_NAMES, LAST_NAMES


@dataclass(frozen=True)
class Place:
    """A city: its region (state) where addresses have one, and patterns with # for a digit."""

    city: str
    region: str | None
    country: str
    postal_code: str
    street: str
    phone: str


PLACES = tuple(
    Place(city, region or None, country, postal_code, street, phone)
    for city, region, country, postal_code, street, phone in (
        line.split("|")
        for line in """\
Reims||France|51###|## rue des Tonneliers|26.##.##.##
Lyon||France|690##|## quai du Rhône|78.##.##.##
Nantes||France|440##|## rue de la Mer|40.##.##.##
Genève||Switzerland|12##|Rue du Lac ##|0022-######
Bern||Switzerland|30##|Brunnengasse ##|0031-######
Köln||Germany|50###|Rheinufer ##|0221-######
Münster||Germany|48###|Salzstraße ##|0251-######
Leipzig||Germany|04###|Lindenallee ##|0341-######
Graz||Austria|80##|Murgasse ##|0316-######
Århus||Denmark|80##|Havnegade ##|86 ## ## ##
Malmö||Sweden|21# ##|Ängsvägen ##|040-## ## ##
Bergen||Norway|50##|Fjordveien ##|55 ## ## ##
Oulu||Finland|90###|Satamakatu ##|981-######
Kraków||Poland|31-###|ul. Długa ##|(12) ###-##-##
Porto||Portugal|4###|Rua da Ribeira ##|(2) ###-####
Sevilla||Spain|410##|Calle Azahar ##|(95) ### ## ##
Torino||Italy|101##|Via dei Colli ##|011-#######
Cork||Ireland|T12 ##|## Quay Street|21 ### ####
Bristol|Avon|UK|BS# #LT|## Harbour Row|(117) ###-####
Antwerpen||Belgium|20##|Schoenmarkt ##|(03) ### ## ##
São Paulo|SP|Brazil|01###-0##|Rua das Flores, ##|(11) ###-####
Rosario||Argentina|S20##|Avenida del Río ##|(341) ###-####
Puebla||Mexico|72###|Calle Jacaranda ##|(22) ###-####
Mérida||Venezuela|51##|Avenida Sucre ##|(74) ###-####
Montréal|Québec|Canada|H#A #B#|## rue Saint-Gabriel|(514) 555-####
Vancouver|BC|Canada|V#C #D#|## Cedar Street|(604) 555-####
Albuquerque|NM|USA|871##|### Mesa Road|(505) 555-####
Portland|OR|USA|972##|### River Street|(503) 555-####
Boise|ID|USA|837##|### Canyon Avenue|(208) 555-####
Duluth|MN|USA|558##|### Lake Avenue|(218) 555-####
Savannah|GA|USA|314##|### Oak Square|(912) 555-####""".splitlines()
    )
)


def digits(source: random.Random, pattern: str) -> str:
    """Replace every # of the pattern by a digit from 1 to 9."""
    return "".join(str(source.randint(1, 9)) if character == "#" else character for character in pattern)


def person(source: random.Random) -> str:
    """Return a first and a last name."""
    return f"{source.choice(FIRST_NAMES)} {source.choice(LAST_NAMES)}"
