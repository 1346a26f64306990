"""A pipeline whose tables the job queries: there are no connectors, topics or slots."""

import contextlib
import time
from collections.abc import Sequence

from db.connecting import connect
from local.platform.pipeline import LocalPipeline
from local.platform.tables import LocalTable
from local.services.source_database import Slot, has_rows


class QueriedPipeline(LocalPipeline):
    """Moves data with the job alone."""

    needs: Sequence[str] = ()

    def slot(self) -> Slot | None:
        return None

    def source_is_read(self) -> bool:
        """Return True: there is no slot to read."""
        return True

    def lost_changes(self) -> str | None:
        """Return None: the next query sees what the last one missed, and the job stops where it can't continue."""
        return None

    def topic_ends(self) -> dict[str, int]:
        return {}

    def sink_offsets(self) -> dict[str, int]:
        return {}

    def awaited(self) -> list[LocalTable]:
        """Return the tables with rows: an empty one has no lake table."""
        with contextlib.closing(connect(self._services.database.parameters())) as connection:
            return [table for table in self.tables if has_rows(connection, table.entry)]

    def read_anew(self) -> None:
        """Restart the job so that it reads all rows and writes those that differ from the lake's."""
        self.start_job("--ignore-checkpoint", f"anew-{time.time()}")
