"""What `./lake dev bench all` runs: each of the pipeline's benchmarks at full and at short size."""

from typing import NamedTuple

COMMAND = "./lake dev bench"


class Bench(NamedTuple):
    """The words after `./lake dev bench`; `short`: those of a tiny size, None: not in a short run."""

    words: str
    short: str | None = None

    @property
    def command(self) -> str:
        return f"{COMMAND} {self.words}"


_TINY = "--events 30 --changes 10 --commits 0 --counted 0 --rounds 1 --way job --way plain"

BENCHES = {
    "copy-on-write": Bench("job --case copy-on-write"),
    # Both in one: the other cases differ from it in what the job's own tests cover.
    "merge-on-read": Bench("job --case merge-on-read", f"job --case merge-on-read {_TINY}"),
    "30-columns": Bench("job --case 30-columns --commits 10"),
    "100-partitions": Bench("job --case 100-partitions --commits 10"),
    "first-load": Bench("first-load --rows 1000000 --runs 5"),
    "query": Bench("query --seeds 5 --rows 1000000"),
    "freshness": Bench("freshness"),
    "requests": Bench("requests"),
    "growth": Bench("requests --commits 500 --parts 5 --layout default"),
    "landed": Bench("requests --commits 20 --parts 1 --layout default --landed 100000"),
    "tables": Bench("tables"),
    "reconcile": Bench("reconcile"),
    "outbox": Bench("outbox --rounds 5", "outbox --transactions 20 --clients 2 --rounds 1"),
    "costs": Bench("costs", "costs"),
}
CASES = ("copy-on-write", "merge-on-read", "30-columns", "100-partitions")
