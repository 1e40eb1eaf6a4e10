"""The cost of importing: nothing heavy is loaded before it is used."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import hulltune


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


def test_only_using_a_kernel_imports_numba() -> None:
    """Every module outside of kernels/ can be imported in no time: what is compiled is imported where it is called."""
    loaded = run(
        "import hulltune, importlib, json, pkgutil, sys\n"
        "for module in pkgutil.walk_packages(hulltune.__path__, 'hulltune.'):\n"
        "    if not module.name.startswith('hulltune.kernels.') and not module.name.endswith('__main__'):\n"
        "        importlib.import_module(module.name)\n"
        "print(json.dumps(list(sys.modules)))"
    )
    assert "hulltune.cli.commands.loop" in json.loads(loaded)
    assert not {"numba", "matplotlib", "scipy"} & set(json.loads(loaded))


def test_public_names_resolve() -> None:
    for name in hulltune.__all__:
        assert getattr(hulltune, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'envelop'"):
        _ = hulltune.envelop
