"""The Ray cluster that a run uses: that of RAY_ADDRESS, or one that is started on this machine."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

from hulltune.errors import InputError
from hulltune.interrupts import SIGNALS

INLINE = 1 << 20
"""Bytes of a question or an answer that Ray sends within its call: a round trip to its object store costs more."""


def connected() -> tuple[Any, bool]:
    """The module ``ray``, connected, and whether that was done here: then ``ray.shutdown`` is due in the end.

    Nothing is sent to the makers of Ray, and Ctrl-C and SIGTERM stay what they are.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # before Ray is imported
    os.environ.setdefault("RAY_max_direct_call_object_size", str(INLINE))
    try:
        import ray
    except ImportError:
        raise InputError("cluster: Ray is not installed; install it with: pip install ray") from None
    if ray.is_initialized():
        return ray, False
    address = os.environ.get("RAY_ADDRESS")
    in_main_thread = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in SIGNALS} if in_main_thread else {}
    try:
        options = {} if address else {"include_dashboard": False}
        ray.init(address=address or "local", log_to_driver=False, logging_level="ERROR", **options)
    except Exception as error:  # of many kinds
        where = f"the cluster {address} (RAY_ADDRESS)" if address else "a local cluster"
        raise InputError(f"cluster: Ray cannot reach or start {where} ({first_line(error)})") from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return ray, True


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its name."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
