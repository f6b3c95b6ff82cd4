"""Patches and what a real API server answered, as `tools.recording.patches` recorded them."""

import json
import zlib
from functools import cache
from pathlib import Path
from typing import Any

_RECORDED = Path(__file__).parents[1] / "unit" / "patch" / "data" / "patches.json.zlib"


@cache
def recorded() -> Any:
    """Return what was recorded."""
    return json.loads(zlib.decompress(_RECORDED.read_bytes()))
