"""The build hooks: the shared library of kernels for the wheel, and the README as it reads away from its repository.

A wheel fits all Pythons of a platform (py3-none-PLATFORM): the library is linked to none of them. Where no library can
be made, the build says why and ends.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface
from packaging.tags import sys_tags

INSIDE = "hulltune/kernels/compiled"
RAW = "https://raw.githubusercontent.com/hulltune/hulltune"


class CompiledKernels(BuildHookInterface[Any]):
    """A hook that adds the library of kernels; to an editable install it adds it in the source tree."""

    def dependencies(self) -> list[str]:
        """Zig, whose C compiler links the library where the machine has none."""
        return [] if shutil.which("cc") else ["ziglang"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and tell the builder of the files and of the platform that the wheel is for."""
        source = Path(self.root) / "src"
        folder = source / INSIDE  # where a second build finds what has not changed
        if not os.access(source / "hulltune" / "kernels", os.W_OK):
            folder = Path(self.directory) / "kernels"
        command = [sys.executable, "-m", "hulltune.kernels.load.build", str(folder)]
        # An installer may find its environment for building by PYTHONPATH, too.
        places = os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH")]))
        self.app.display_info("compiling kernels, about two minutes of CPU time")
        subprocess.run(command, env={**os.environ, "PYTHONPATH": places}, check=True)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{next(sys_tags()).platform}"
        if version != "editable":
            for path in [*folder.glob("kernels-*"), folder / "kernels.json"]:
                build_data["force_include"][str(path)] = f"{INSIDE}/{path.name}"


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
