"""The only room with Numba in it.

Every kernel works on plain arrays, releases the GIL, and has a slow, readable oracle in the tests. Nothing outside
imports these modules at import time: `import hulltune` stays quick, and the first call pays for Numba.
"""
