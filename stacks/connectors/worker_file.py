"""Writes a worker's configuration file, for MSK Connect and Kubernetes."""

from collections.abc import Mapping


def properties_file(properties: Mapping[str, str]) -> str:
    """Return the properties as a file. Raises ValueError for a value that the worker would read differently."""
    for name, value in properties.items():
        if "\n" in value or "\\" in value:
            # Don't repeat the value: it may be a secret.
            raise ValueError(f"{name} must be one line of text without a backslash")
    return "".join(f"{name}={value}\n" for name, value in sorted(properties.items()))
