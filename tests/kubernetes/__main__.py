"""`make test-kubernetes`: manifests on a real API server, the image's Dockerfile by BuildKit; built if need be."""

import sys
from pathlib import Path

import pytest

from contract.errors import one_line_errors
from tests.kubernetes.binaries import binaries

if __name__ == "__main__":
    with one_line_errors("test-kubernetes"):
        binaries()
    files = [str(Path(__file__).with_name(name)) for name in ("api_server.py", "image.py")]
    sys.exit(pytest.main(["-v", "-p", "no:cacheprovider", *files]))
