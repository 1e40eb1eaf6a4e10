"""What importing costs: nothing heavy before it is used."""

from __future__ import annotations

import json
import subprocess
import sys


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_the_package_imports_nothing_heavy() -> None:
    loaded = run("import hulltune, json, sys; print(json.dumps([m.split('.')[0] for m in sys.modules]))")
    assert not {"numba", "llvmlite", "numpy", "matplotlib", "scipy"} & set(json.loads(loaded))


def test_building_an_n_best_list_does_not_need_numba() -> None:
    loaded = run(
        "import hulltune, json, sys; hulltune.Forest.from_nbest(['a'], [[1.0]]);print(json.dumps(list(sys.modules)))"
    )
    assert not {"numba", "matplotlib"} & set(json.loads(loaded))


def test_only_the_kernels_import_numba_and_only_the_report_imports_matplotlib() -> None:
    from pathlib import Path

    import hulltune

    source = Path(hulltune.__file__).parent
    for path in source.rglob("*.py"):
        room = path.relative_to(source).parts[0]
        text = path.read_text(encoding="utf-8")
        assert room == "kernels" or "import numba" not in text, path
        assert room == "report" or "import matplotlib" not in text, path
        assert room == "report" or "from matplotlib" not in text, path
