"""Names of columns that often hold personal data, in a few languages. Only ever proposed: nobody but the user knows."""

import re

# Parts of names in snake_case, as contract/table_names.py writes them.
_SECRET = re.compile(r"(?:^|_)(?:password|passwd|pwd|passphrase|secret|token|api_key|pin|salt|otp)(?:_|\d|$)")
_PERSONAL = re.compile(
    r"(?:^|_)(?:e_?mail|mail|(?:tele)?phone|mobile|fax|(?:first|last|full|sur|given|family|contact)_?name"
    r"|birth_?(?:day|date)|date_of_birth|dob|ssn|social_security|tax_id|passport|national_id|iban|bic"
    r"|(?:credit_)?card(?:_number)?|cvv|ip_addr(?:ess)?|address|street|postal_code|zip_code"
    r"|geburtsdatum|vorname|nachname|telefon|anschrift|prenom|adresse)(?:_|\d|$)"
)
# An address_id tells nothing by itself.
_REFERENCE = re.compile(r"(?<!tax)(?<!national)_id\Z")


def is_secret(name: str) -> bool:
    """Tell whether a column of that lake name may hold what nobody but the application should have."""
    return _SECRET.search(name) is not None


def is_personal(name: str) -> bool:
    """Tell whether a column of that lake name may hold what tells who somebody is."""
    return _PERSONAL.search(name) is not None and not _REFERENCE.search(name)
