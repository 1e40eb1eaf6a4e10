"""The soak: bad days in bulk, bounded in time. Not collected by pytest: tests/test_soak.py runs small slices of it.

    python -m tests.soak --minutes 60              every part, with its share of the time
    python -m tests.soak --minutes 5 --parts fuzz  some parts

A part is a module in tests/soak/parts; adding one needs no other change. See findings.py for what a part is.
"""
