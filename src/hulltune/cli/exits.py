"""Exit codes. A metric that waits for answers has one of its own (3)."""

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
