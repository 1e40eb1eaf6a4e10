"""The operations of simd.py, and unaligned reading, in Numba's terms: imported only when a kernel is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from hulltune.kernels.simd.simd import LANES, MASKS

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_BITS = ir.VectorType(ir.IntType(1), LANES)


_operation: Callable[[Callable[..., Any]], Any] = intrinsic  # numba is untyped


class LanesType(types.Type):  # type: ignore[misc]  # numba is untyped
    """LANES doubles."""

    def __init__(self) -> None:
        super().__init__(name=f"Lanes({LANES})")


class MaskType(types.Type):  # type: ignore[misc]  # numba is untyped
    """LANES truth values."""

    def __init__(self) -> None:
        super().__init__(name=f"Mask({LANES})")


lanes_type = LanesType()
mask_type = MaskType()


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]  # numba is untyped
    def __init__(self, manager: Any, frontend_type: Any) -> None:
        super().__init__(manager, frontend_type, _VECTOR)


@register_model(MaskType)
class _MaskModel(models.PrimitiveModel):  # type: ignore[misc]  # numba is untyped
    def __init__(self, manager: Any, frontend_type: Any) -> None:
        super().__init__(manager, frontend_type, _BITS)


def _row_pointer(context: Any, builder: Any, array_type: Any, array: Any, row: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    first = builder.gep(data, [builder.mul(row, ir.Constant(row.type, LANES))])
    return builder.bitcast(first, _VECTOR.as_pointer())


@_operation
def load(typing: Any, array: Any, row: Any) -> Any:
    """Lanes ``array[row * LANES : (row + 1) * LANES]`` of a flat float64 array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = builder.load(_row_pointer(context, builder, signature.args[0], *arguments))
        value.align = 8
        return value

    return lanes_type(array, types.intp), generate


@_operation
def load_at(typing: Any, array: Any, start: Any) -> Any:
    """Lanes ``array[start : start + LANES]`` of a flat float64 or float32 array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        single = signature.args[0].dtype == types.float32
        stored = ir.VectorType(ir.FloatType(), LANES) if single else _VECTOR
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        value = builder.load(builder.bitcast(builder.gep(data, [arguments[1]]), stored.as_pointer()))
        value.align = 4 if single else 8
        return builder.fpext(value, _VECTOR) if single else value

    return lanes_type(array, types.intp), generate


@_operation
def store(typing: Any, array: Any, row: Any, value: Any) -> Any:
    """Write the lanes to ``array[row * LANES : (row + 1) * LANES]``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _row_pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        builder.store(arguments[2], pointer).align = 8
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes_type), generate


@_operation
def store_at(typing: Any, array: Any, start: Any, value: Any) -> Any:
    """Write the lanes to ``array[start : start + LANES]`` of a flat float64 array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), _VECTOR.as_pointer())
        builder.store(arguments[2], pointer).align = 8
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes_type), generate


@_operation
def prefetch(typing: Any, array: Any, place: Any) -> Any:
    """Begin to fetch the cache line of ``array[place]`` of a flat array; the place must exist."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        # To read (0), and to keep in all caches (3), data (1) rather than code.
        place = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        builder.call(function, [place, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@_operation
def splat(typing: Any, value: Any) -> Any:
    """One number in every lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        one = builder.insert_element(undefined, arguments[0], ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(one, undefined, zeros)

    return lanes_type(types.float64), generate


def _elementwise(emit: Callable[[Any, Any, Any], Any], result: Any, operand: Any) -> Any:
    @_operation
    def operation(typing: Any, left: Any, right: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return emit(builder, *arguments)

        return result(operand, operand), generate

    return operation


add = _elementwise(lambda builder, a, b: builder.fadd(a, b), lanes_type, lanes_type)
subtract = _elementwise(lambda builder, a, b: builder.fsub(a, b), lanes_type, lanes_type)
divide = _elementwise(lambda builder, a, b: builder.fdiv(a, b), lanes_type, lanes_type)
multiply = _elementwise(lambda builder, a, b: builder.fmul(a, b), lanes_type, lanes_type)
minimum = _elementwise(
    lambda builder, a, b: builder.select(builder.fcmp_ordered("<", a, b), a, b), lanes_type, lanes_type
)
maximum = _elementwise(
    lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b), lanes_type, lanes_type
)
greater = _elementwise(lambda builder, a, b: builder.fcmp_ordered(">", a, b), mask_type, lanes_type)
at_least = _elementwise(lambda builder, a, b: builder.fcmp_ordered(">=", a, b), mask_type, lanes_type)
equal = _elementwise(lambda builder, a, b: builder.fcmp_ordered("==", a, b), mask_type, lanes_type)
unequal = _elementwise(lambda builder, a, b: builder.fcmp_unordered("!=", a, b), mask_type, lanes_type)
both = _elementwise(lambda builder, a, b: builder.and_(a, b), mask_type, mask_type)
either = _elementwise(lambda builder, a, b: builder.or_(a, b), mask_type, mask_type)


def _fused(vector: Any, result: Any, name: str) -> Any:
    @_operation
    def operation(typing: Any, a: Any, b: Any, c: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.FunctionType(vector, [vector] * 3)
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)

        return result(result, result, result), generate

    return operation


multiply_add = _fused(_VECTOR, lanes_type, f"llvm.fma.v{LANES}f64")
"""a · b + c, rounded once."""
multiply_add_one = _fused(ir.DoubleType(), types.float64, "llvm.fma.f64")
"""a · b + c of single numbers, rounded once."""


@_operation
def choose(typing: Any, mask: Any, when_true: Any, when_false: Any) -> Any:
    """``when_true`` in lanes where the mask is true, ``when_false`` in the others."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(*arguments)

    return lanes_type(mask_type, lanes_type, lanes_type), generate


@_operation
def any_lane(typing: Any, mask: Any) -> Any:
    """Whether the mask is true in any lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = ir.IntType(LANES)
        return builder.icmp_unsigned("!=", builder.bitcast(arguments[0], bits), ir.Constant(bits, 0))

    return types.boolean(mask_type), generate


@_operation
def mask_bits(typing: Any, mask: Any) -> Any:
    """The mask as an integer, lane 0 as its lowest bit."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(builder.bitcast(arguments[0], ir.IntType(LANES)), ir.IntType(64))

    return types.int64(mask_type), generate


@_operation
def lowest_bit(typing: Any, bits: Any) -> Any:
    """The number of the lowest bit that is set; at least one must be."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


@_operation
def store_mask(typing: Any, array: Any, place: Any, mask: Any) -> Any:
    """Write the mask to ``array[place]`` of a flat uint16 array, lane 0 as its lowest bit."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        builder.store(builder.bitcast(arguments[2], ir.IntType(LANES)), builder.gep(data, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(array, types.intp, mask_type), generate


@_operation
def lane_of_masks(typing: Any, array: Any, start: Any, lane: Any) -> Any:
    """One lane of MASKS masks that store_mask wrote from ``array[start]`` on, as the bits of an integer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.VectorType(ir.IntType(LANES), MASKS)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        masks = builder.load(builder.bitcast(builder.gep(data, [arguments[1]]), kind.as_pointer()))
        masks.align = 2
        bit = builder.shl(ir.Constant(ir.IntType(LANES), 1), builder.trunc(arguments[2], ir.IntType(LANES)))
        undefined = ir.Constant(kind, ir.Undefined)
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), MASKS), [0] * MASKS)
        bits = builder.shuffle_vector(
            builder.insert_element(undefined, bit, ir.Constant(ir.IntType(32), 0)), undefined, zeros
        )
        chosen = builder.icmp_unsigned("!=", builder.and_(masks, bits), ir.Constant(kind, [0] * MASKS))
        return builder.bitcast(chosen, ir.IntType(MASKS))

    return types.int64(array, types.intp, types.intp), generate


@_operation
def smallest(typing: Any, value: Any) -> Any:
    """The smallest of the lanes, none of which is NaN."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        name = f"llvm.vector.reduce.fmin.v{LANES}f64"
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.DoubleType(), [_VECTOR]), name)
        return builder.call(function, arguments, fastmath=("nnan",))

    return types.float64(lanes_type), generate


@_operation
def scatter(typing: Any, array: Any, start: Any, stride: Any, count: Any, value: Any) -> Any:
    """Write lane i to ``array[start + i * stride]``, for all lanes up to ``count`` (of a flat float64 array)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, start, stride, count, value = arguments
        data = context.make_array(signature.args[0])(context, builder, array).data
        place = start
        for lane in range(LANES):
            with builder.if_then(builder.icmp_signed("<", ir.Constant(count.type, lane), count), likely=True):
                builder.store(
                    builder.extract_element(value, ir.Constant(ir.IntType(32), lane)), builder.gep(data, [place])
                )
            place = builder.add(place, stride)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, types.intp, lanes_type), generate


# Sixteen 32-bit integers: rows of counts, which fit one cache line.


class CountsType(types.Type):  # type: ignore[misc]  # numba is untyped
    """LANES 32-bit integers."""

    def __init__(self) -> None:
        super().__init__(name=f"Counts({LANES})")


counts_type = CountsType()
_COUNTS = ir.VectorType(ir.IntType(32), LANES)


@register_model(CountsType)
class _CountsModel(models.PrimitiveModel):  # type: ignore[misc]  # numba is untyped
    def __init__(self, manager: Any, frontend_type: Any) -> None:
        super().__init__(manager, frontend_type, _COUNTS)


@_operation
def load_counts(typing: Any, array: Any, row: Any) -> Any:
    """``array[row * LANES : (row + 1) * LANES]`` of a flat int32 array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        first = builder.gep(data, [builder.mul(arguments[1], ir.Constant(arguments[1].type, LANES))])
        value = builder.load(builder.bitcast(first, _COUNTS.as_pointer()))
        value.align = 4
        return value

    return counts_type(array, types.intp), generate


@_operation
def store_counts(typing: Any, array: Any, row: Any, value: Any) -> Any:
    """Write to ``array[row * LANES : (row + 1) * LANES]`` of a flat int32 array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        first = builder.gep(data, [builder.mul(arguments[1], ir.Constant(arguments[1].type, LANES))])
        builder.store(arguments[2], builder.bitcast(first, _COUNTS.as_pointer())).align = 4
        return context.get_dummy_value()

    return types.void(array, types.intp, counts_type), generate


@_operation
def store_wide(typing: Any, array: Any, start: Any, value: Any) -> Any:
    """Write to ``array[start : start + LANES]`` of a flat int64 array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.VectorType(ir.IntType(64), LANES)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), wide.as_pointer())
        builder.store(builder.sext(arguments[2], wide), pointer).align = 8
        return context.get_dummy_value()

    return types.void(array, types.intp, counts_type), generate


add_counts = _elementwise(lambda builder, a, b: builder.add(a, b), counts_type, counts_type)
subtract_counts = _elementwise(lambda builder, a, b: builder.sub(a, b), counts_type, counts_type)
counts_differ = _elementwise(lambda builder, a, b: builder.icmp_signed("!=", a, b), mask_type, counts_type)


def _unaligned(bits: int) -> Any:
    def operation(typing: Any, array: Any, position: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            pointer = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(bits).as_pointer())
            value = builder.load(pointer)
            value.align = 1
            return value

        return (types.uint32 if bits == 32 else types.uint64)(array, types.intp), generate

    return _operation(operation)


load32, load64 = _unaligned(32), _unaligned(64)
"""A little-endian number at any place of an array of bytes."""
