"""Where the tests find the shared material that lies beside the checkout."""

import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("SLOTD_SHARED", PROJECT.parent / "shared"))
REFENGINE = SHARED / "engine" / "refengine.py"
