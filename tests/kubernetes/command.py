"""`./lake dev test kubernetes`: manifests on a real API server, the image's Dockerfile in BuildKit.

Builds both programs if necessary.
"""

from pathlib import Path

import pytest

from tests.kubernetes.binaries import binaries


def main() -> int:
    binaries()
    files = [str(Path(__file__).with_name(name)) for name in ("api_server.py", "image.py")]
    return int(pytest.main(["-v", "-p", "no:cacheprovider", *files]))
