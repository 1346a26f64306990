"""Unpacks tar archives the same way in every Python 3.11: `filter=` arrived with 3.11.4, and Debian 12 has 3.11.2."""

import shutil
import tarfile
from pathlib import Path


def unpack(tar: tarfile.TarFile, folder: Path, *, prefix: str = "", suffix: str = "") -> None:
    """Write the files with this prefix and suffix to a folder, without the archive's owners and modes.

    Symbolic links, devices and names that lead out of the folder are left out. A hard link to a file of the archive
    stays one. Raises tarfile.TarError for a damaged archive.
    """
    root = folder.resolve()
    for member in tar:
        target, original = (root / member.name).resolve(), (root / member.linkname).resolve()
        if not (member.name.startswith(prefix) and member.name.endswith(suffix) and target.is_relative_to(root)):
            continue
        if member.isfile() and (content := tar.extractfile(member)):
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as file:
                shutil.copyfileobj(content, file)
        elif member.islnk() and original.is_relative_to(root):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.hardlink_to(original)
