"""``hulltune pack``: lists or forests as a packed file."""

from __future__ import annotations

import os

from hulltune.cli.answers import DONE, note
from hulltune.cli.help import command
from hulltune.cli.options import DataOptions, data_options, out_option, quiet_option
from hulltune.cli.reading import read
from hulltune.wording import counted

EXAMPLES = """\
hulltune pack dev.nbest.gz --features words --out dev.hull
hulltune pack lattices/ --ids name --out dev.hull"""


@command(group="work with lists and forests", examples=EXAMPLES)
@data_options()
@out_option("The packed file to write, usually named FILE.hull.", required=True)
@quiet_option("Do not say what was written.")
def pack(data: DataOptions, out: str, quiet: bool) -> int:
    """Write lists or forests as a packed file, which opens at once."""
    from hulltune.formats import pack as write_packed

    given = read(data, quiet=quiet)
    write_packed(given, out)
    size = counted(given.corpus.edges, "candidate")
    if not given.is_lists:
        size = f"{counted(given.corpus.nodes, 'node')}, {counted(given.corpus.edges, 'edge')}"
    if not quiet:
        note(f"{out}: {counted(len(given), 'sentence')}, {size}, {os.path.getsize(out):,} bytes")
    return DONE
