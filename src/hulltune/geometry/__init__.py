"""Points, lines, hulls and exact predicates: pure geometry, no language processing."""
