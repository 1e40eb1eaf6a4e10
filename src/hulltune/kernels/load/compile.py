"""From a module with kernels to its objects, by Numba and LLVM. Imported only to build the library.

Kernels are lowered once, without optimising, and then optimised and emitted for every level; the passes are Numba's.
"""

from __future__ import annotations

import importlib
import itertools
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from llvmlite import binding, ir
from numba import from_dtype, types
from numba.np.numpy_support import as_dtype

from hulltune.arrays import Layout
from hulltune.kernels.load.kernel import OPTIONS, Kernel

OPTIONS.update(no_cpython_wrapper=True, no_cfunc_wrapper=True, cache=False)  # nothing that is compiled runs here
Row = tuple[str, str, str, str]
"""A kernel for one choice of types: its name, what it takes and gives (see ``_spelled``), the symbol of its entry."""


def compile_module(module: str, stem: Path, architecture: str, levels: dict[str, str]) -> list[Row]:
    """Write an object with a module's kernels for each level of CPUs, which LLVM's name tells; returns a table."""
    bitcode, rows = _lowered(module)
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple(f"{architecture}-unknown-linux-gnu")
    for level, cpu in levels.items():
        machine = target.create_target_machine(cpu=cpu, opt=3, reloc="pic", codemodel="default")
        code = binding.parse_bitcode(bitcode)
        code.triple, code.data_layout = machine.triple, str(machine.target_data)
        _optimise(code, machine)
        Path(f"{stem}.{level}.o").write_bytes(machine.emit_object(code))
    return rows


def _lowered(module: str) -> tuple[bytes, list[Row]]:
    """The bitcode of the entries of a module's kernels and all that they call, not optimised; and what they are."""
    whole = binding.parse_assembly("")
    rows: list[Row] = []
    for kernel in vars(importlib.import_module(f"hulltune.kernels.{module}")).values():
        if not isinstance(kernel, Kernel) or kernel.module != module:
            continue
        for arguments in _variants(kernel.py_func):
            kernel.dispatcher.compile(arguments)
            made = kernel.dispatcher.overloads[arguments]
            symbol = f"{kernel.name.replace('.', '_')}_{len(rows)}"
            rows.append((kernel.name, "".join(map(_spelled, arguments)), _spelled(made.signature.return_type), symbol))
            code = binding.parse_assembly(made.library.get_llvm_str())
            passed = kernel.dispatcher.targetctx.call_conv.get_function_type(made.fndesc.restype, made.fndesc.argtypes)
            are_memory = [each for kind in arguments for each in _are_memory(kind)]
            code.link_in(binding.parse_assembly(_entry(symbol, made.fndesc.llvm_func_name, passed, are_memory)))
            for each in itertools.chain(code.functions, code.global_variables):
                if each.name == symbol:
                    each.visibility = "hidden"
                elif not each.is_declaration:  # Numba's names are unique in a process only
                    each.linkage = "internal"
            whole.link_in(code)
    return whole.as_bitcode(), rows


def _are_memory(kind: Any) -> list[bool]:
    """Whether each word of an argument of this type is the memory that Numba has made for an array."""
    if isinstance(kind, types.BaseTuple):
        return [each for part in kind.types for each in _are_memory(part)]
    return [True] + [False] * (4 + 2 * kind.ndim) if isinstance(kind, types.Array) else [False]


def _entry(symbol: str, name: str, kernel_type: Any, are_memory: list[bool]) -> str:
    """The code of a function that C can call: it passes on the place of the answer, and each argument from its word.

    Numba has made no memory for arrays that are given. LLVM sees that if it is said here, and leaves out the counting
    of references to them, which took half the time of reading lists.
    """
    module, word = ir.Module(), ir.IntType(64)
    kernel = ir.Function(module, kernel_type, name)
    entry_type = ir.FunctionType(kernel_type.return_type, [word.as_pointer(), kernel_type.args[0]])
    entry = ir.Function(module, entry_type, symbol)
    builder = ir.IRBuilder(entry.append_basic_block())
    words, answer = entry.args
    error = builder.alloca(kernel_type.args[1].pointee)
    places = [builder.gep(words, [word(i)]) for i in range(len(kernel_type.args) - 2)]
    given = [
        ir.Constant(kind, None) if is_memory else builder.load(builder.bitcast(place, kind.as_pointer()))
        for place, kind, is_memory in zip(places, kernel_type.args[2:], are_memory, strict=True)
    ]
    builder.ret(builder.call(kernel, [answer, error, *given]))
    return str(module)


def _optimise(code: Any, machine: Any) -> None:
    """Run Numba's passes: over each function, where they find most pairs of counting references up and down, which
    go; cheap ones that inline, which lets further pairs go; and then all. Without the first, kernels take up to a
    tenth longer.
    """
    options = binding.create_pipeline_tuning_options(speed_level=3)
    builder = binding.create_pass_builder(machine, options)
    passes = builder.getFunctionPassManager()
    passes.add_refprune_pass()
    for function in code.functions:
        if not function.is_declaration:
            passes.run(function, builder)
    for speed in (0, 3):
        options = binding.create_pipeline_tuning_options(speed_level=speed)
        options.loop_vectorization, options.slp_vectorization = speed > 0, False
        builder = binding.create_pass_builder(machine, options)
        passes = builder.getModulePassManager()
        if speed == 0:
            passes.add_loop_rotate_pass()
            passes.add_instruction_combine_pass()
            passes.add_jump_threading_pass()
        passes.add_refprune_pass()
        passes.run(code, builder)


# The types of a kernel, which its annotations tell.


def _variants(function: Any) -> Iterator[tuple[Any, ...]]:
    """The types of a function's arguments: one tuple for each choice that the layouts of its arrays leave."""
    hints = list(_hints(function).values())[:-1]
    layouts = dict.fromkeys(layout for hint in hints for layout in _layouts(hint))
    for chosen in itertools.product(*(itertools.product(each.dtypes or (None,), each.orders) for each in layouts)):
        choice = dict(zip(layouts, chosen, strict=True))
        yield tuple(_numba_type(hint, choice) for hint in hints)


def _hints(annotated: Any) -> dict[str, Any]:
    return typing.get_type_hints(annotated, include_extras=True)


def _layouts(hint: Any) -> Iterator[Layout]:
    if typing.get_origin(hint) in (Annotated, np.ndarray):
        yield _array_of(hint)[1]
    elif hint not in _SCALARS:
        for part in _parts(hint):
            yield from _layouts(part)


def _array_of(hint: Any) -> tuple[Any, Layout]:
    """The type of an array's numbers, and its layout: if it is not said, one dimension in C order."""
    array, layout = typing.get_args(hint) if typing.get_origin(hint) is Annotated else (hint, Layout())
    return typing.get_args(typing.get_args(array)[1])[0], layout


def _parts(hint: Any) -> list[Any]:
    """The types in a tuple, which may be a named one."""
    return list(_hints(hint).values() if hasattr(hint, "_fields") else typing.get_args(hint))


def _numba_type(hint: Any, choice: dict[Layout, tuple[Any, str]]) -> Any:
    if hint in _SCALARS:
        return _SCALARS[hint]
    if typing.get_origin(hint) in (Annotated, np.ndarray):
        number, layout = _array_of(hint)
        dtype, order = choice[layout]
        return types.Array(from_dtype(np.dtype(dtype or number)), layout.dimensions, order)
    parts = [_numba_type(part, choice) for part in _parts(hint)]
    return types.NamedTuple(parts, hint) if hasattr(hint, "_fields") else types.Tuple(parts)


_SCALARS = {int: types.int64, float: types.float64, bool: types.boolean}


def _spelled(kind: Any) -> str:
    """A type as runtime.c reads it: ``q`` a whole number, ``d`` a real one, ``t`` a truth value, ``a`` an array with
    the letter of its numbers, its dimensions and its order, and tuples in brackets.
    """
    if isinstance(kind, types.Array):
        return f"a{as_dtype(kind.dtype).char}{kind.ndim}{kind.layout}"
    if isinstance(kind, types.BaseTuple):
        return f"({''.join(map(_spelled, kind.types))})"
    return {types.none: "", types.int64: "q", types.float64: "d", types.boolean: "t"}[kind]
