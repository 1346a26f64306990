"""A pipeline whose tables are queried on the local platform: PostgreSQL and the job, with nothing between them."""

import contextlib
import time
from collections.abc import Sequence

from db.connecting import connect
from local.platform.pipeline import LocalPipeline
from local.platform.tables import LocalTable
from local.services.source_database import Slot, has_rows


class QueriedPipeline(LocalPipeline):
    """The moving part of such a platform: its job."""

    needs: Sequence[str] = ()

    def slot(self) -> Slot | None:
        """Return None: nothing is kept at the source."""
        return None

    def source_is_read(self) -> bool:
        """Tell that nothing is missing there: no slot has to be read."""
        return True

    def lost_changes(self) -> str | None:
        """Return None: what a look didn't see, the next one sees; the job itself stops where it can't go on."""
        return None

    def topic_ends(self) -> dict[str, int]:
        """Return nothing: there are no topics."""
        return {}

    def sink_offsets(self) -> dict[str, int]:
        """Return nothing: there is no sink."""
        return {}

    def awaited(self) -> list[LocalTable]:
        """Return the tables with rows: without any the lake has no table."""
        with contextlib.closing(connect(self._services.database.parameters())) as connection:
            return [table for table in self.tables if has_rows(connection, table.entry)]

    def read_anew(self) -> None:
        """Start the job once more, which then reads all rows and writes those that differ from the lake's."""
        self.start_job("--ignore-checkpoint", f"anew-{time.time()}")
