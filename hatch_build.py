"""The build hooks: compiled kernels for the wheel, and the README as it reads away from its repository.

The kernels are compiled for the common CPU of this architecture. With HULLTUNE_PURE=1, and wherever they cannot be
compiled, the wheel is a pure one (py3-none-any), which works everywhere and compiles its kernels when they are needed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

INSIDE = "hulltune/kernels/compiled"
RAW = "https://raw.githubusercontent.com/hulltune/hulltune"


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
        command = [sys.executable, "-m", "hulltune.kernels.load.building", str(folder)]
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


class StandaloneReadme(MetadataHookInterface):
    """A hook that writes the README into the metadata, which package indexes show without its neighbours."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Give links and pictures the addresses that they have in the repository at the tag of this version."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        version = (Path(self.root) / "src/hulltune/_version.py").read_text(encoding="utf-8").split('"')[-2]
        text = standalone(text, metadata["urls"]["Homepage"], f"v{version}")
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def standalone(text: str, repository: str, tag: str) -> str:
    """A page whose relative links and pictures are absolute. A host that shows the raw text of SVG is asked not to."""
    text = re.sub(r'(<img src=")(?!https?:)([^"]+)', rf"\1{RAW}/{tag}/\2", text)
    text = text.replace('.svg"', '.svg?sanitize=true"')
    return re.sub(r"(\]\()(?!https?:|#)([^)]+)", rf"\1{repository}/blob/{tag}/\2", text)
