"""A worker's configuration as the file that it reads, on MSK Connect and on Kubernetes."""

from collections.abc import Mapping


def properties_file(properties: Mapping[str, str]) -> str:
    """A worker's properties as the file that it reads. Raises ValueError for a value that it would read otherwise."""
    for name, value in properties.items():
        if "\n" in value or "\\" in value:
            # The value isn't repeated: it may be a secret.
            raise ValueError(f"{name} must be one line of text without a backslash")
    return "".join(f"{name}={value}\n" for name, value in sorted(properties.items()))
