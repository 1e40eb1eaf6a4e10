"""Orders of documents: where the value of a ranking changes along a line."""
