"""One file per format: parse and write; errors carry file:line."""
