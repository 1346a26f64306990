"""`make test-kubernetes`: the manifests on a real API server, which is built when it isn't there yet."""

import sys
from pathlib import Path

import pytest

from contract.errors import one_line_errors
from tests.kubernetes.binaries import binaries

if __name__ == "__main__":
    with one_line_errors("test-kubernetes"):
        binaries()
    sys.exit(pytest.main(["-v", "-p", "no:cacheprovider", str(Path(__file__).with_name("api_server.py"))]))
