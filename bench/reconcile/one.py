"""One comparison: what to compare comes as JSON on standard input, what it took goes to standard output."""

import json
import sys

from bench.reconcile.command import compare_one

if __name__ == "__main__":
    print(json.dumps(compare_one(json.load(sys.stdin))))
