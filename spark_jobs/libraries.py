"""Makes the boto3 that is shipped in the job's archive importable: EMR's Python 3.11 has none."""

import sys
import tempfile
import zipfile
from typing import Any

from spark_jobs.archive import LIBRARIES


def use_shipped(loader: Any) -> tempfile.TemporaryDirectory[str] | None:
    """Unpack the libraries of the archive that `loader` loaded this job from; None where there are none.

    botocore reads its models as files, so it can't run from within an archive. The folder lives as long as the object.
    """
    path = getattr(loader, "archive", None)
    if path is None:
        return None
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.startswith(f"{LIBRARIES}/")]
        if not names:
            return None
        folder = tempfile.TemporaryDirectory(prefix="streamer-libraries-")
        archive.extractall(folder.name, names)
    sys.path.insert(0, f"{folder.name}/{LIBRARIES}")
    return folder
