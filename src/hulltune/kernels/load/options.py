"""How Numba compiles kernels. Machine code is marked by this file, too: another option is other machine code.

References to arrays are counted, but in functions that borrow (_jit.py).
"""

from __future__ import annotations

from typing import Any

OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": False, "error_model": "python"}
"""No GIL; strict floating point; a division by 0 is an error."""
