"""What Connect's workers are given of ours is what its sources say."""

import base64
from pathlib import Path

import pytest

from local.tools.worker_classes import SOURCES, compile_classes
from plugins.workers import worker_classes
from plugins.workers.worker_classes import compiled


def test_every_source_is_compiled() -> None:
    assert set(SOURCES) == set(Path(worker_classes.__file__).parent.glob("java/*.java"))


@pytest.mark.integration
def test_each_class_is_what_its_source_compiles_to() -> None:
    # Otherwise: `./lake dev generate worker-classes`.
    assert compile_classes(SOURCES) == {
        source: base64.b64decode(compiled(source).read_text(encoding="ascii")) for source in SOURCES
    }
