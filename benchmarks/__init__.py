"""Programs that measure; see `make bench`."""
