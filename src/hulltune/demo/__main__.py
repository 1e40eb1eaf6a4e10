"""``python -m hulltune.demo``: the same as ``hulltune decode``."""

import sys

from hulltune.cli import main

if __name__ == "__main__":
    sys.exit(main(["decode", *sys.argv[1:]]))
