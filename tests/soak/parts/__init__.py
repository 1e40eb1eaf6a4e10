"""The parts of the soak: a module each, found by their place in this folder."""
