"""The build hook: compiles the kernels for the common CPU of this architecture, and puts them into the wheel.

With HULLTUNE_PURE=1, and wherever the kernels cannot be compiled, the wheel is a pure one (py3-none-any), which works
everywhere and compiles its kernels when they are needed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

INSIDE = "hulltune/kernels/compiled"


class CompiledKernels(BuildHookInterface[Any]):
    """A hook that adds a library of compiled kernels; to an editable install it adds it in the source tree."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and tell the builder of the file and of the platform that the wheel is for."""
        if os.environ.get("HULLTUNE_PURE"):
            return
        source = Path(self.root) / "src"
        folder = source / INSIDE  # where a second build finds what has not changed
        if not os.access(source / "hulltune" / "kernels", os.W_OK):
            folder = Path(self.directory) / "kernels"
        command = [sys.executable, "-m", "hulltune.kernels._building", str(folder)]
        # An installer may find its environment for building by PYTHONPATH, too.
        places = os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH")]))
        built = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": places}, capture_output=True, text=True, check=False
        )
        if built.returncode:
            reason = built.stderr.strip().rpartition("\n")[2]
            self.app.display_warning(f"kernels are left out, and will be compiled when they are needed: {reason}")
            return
        library = Path(built.stdout.strip())
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        if version != "editable":
            build_data["force_include"][str(library)] = f"{INSIDE}/{library.name}"
