"""Files in the data directory that only their owner may read."""

import os
from pathlib import Path


def write_private(path: Path, content: bytes) -> None:
    """Replace a file as a whole; the new one is readable by its owner only."""
    draft = path.with_suffix(path.suffix + ".new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    draft.replace(path)
