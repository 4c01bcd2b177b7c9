"""Keys: the small values that all random numbers here are functions of."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import torch
from torch import Tensor
from torch.utils import _pytree

from . import _check, _ops

DEFAULT_IMPL = "threefry2x32"


class Impl(NamedTuple):
    """How an implementation's keys look."""

    number: int  # that the operators know it by
    dtype: torch.dtype
    signed: torch.dtype  # of the same width: what torch can index, pickle and calculate with
    words: int


IMPLS = {
    "threefry2x32": Impl(0, torch.uint32, torch.int32, 2),
    "threefry2x32_original": Impl(1, torch.uint32, torch.int32, 2),
    "threefry4x64": Impl(2, torch.uint64, torch.int64, 10),
}
IMPL_NUMBERS = {name: impl.number for name, impl in IMPLS.items()}

# What `key[...]` takes: indices of the batch.
Index = Any


class Key:
    """A key, or a batch of keys, of a counter-based random stream.

    Make one with :func:`torch_threefry.random.key`; derive others with :meth:`split` and :meth:`fold_in`.
    Draw with the functions of :mod:`torch_threefry.random`, or with torch's names as methods. A key is
    never changed by its use: the same key gives the same numbers, always. Use it once, for one purpose.

    A batch of keys indexes, iterates and unpacks over its batch; a draw from it has one row a key.

    Attributes:
        data: uint32 tensor ``(*batch, 2)``; of threefry4x64, uint64 ``(*batch, 10)``.
        impl: ``"threefry2x32"`` (JAX's partitionable streams), ``"threefry2x32_original"`` or ``"threefry4x64"``.
    """

    __slots__ = ("__weakref__", "data", "impl")

    data: Tensor
    impl: str

    def __init__(self, data: Tensor, impl: str = DEFAULT_IMPL) -> None:
        """Wrap key data as it is; see :func:`torch_threefry.random.wrap_key_data`."""
        check_impl(impl)
        _, dtype, _, words = IMPLS[impl]
        if not isinstance(data, Tensor) or data.dtype != dtype:
            name = str(dtype).removeprefix("torch.")
            raise TypeError(f"key data of {impl} must be a {name} tensor, got {_check.describe(data)}")
        if data.dim() == 0 or data.shape[-1] != words:
            raise ValueError(
                f"key data of {impl} must have a last dimension of {words} words, got shape {tuple(data.shape)}"
            )
        if impl == "threefry4x64":
            _check_paths(data)
        self.data = data
        self.impl = impl

    # ---- What a key is ----

    @property
    def shape(self) -> torch.Size:
        """The shape of the batch; ``()`` for one key."""
        return self.data.shape[:-1]

    @property
    def ndim(self) -> int:
        """The number of dimensions of the batch."""
        return self.data.dim() - 1

    @property
    def device(self) -> torch.device:
        """Where the key lies, and what is drawn from it."""
        return self.data.device

    def __repr__(self) -> str:
        batch = f", shape={tuple(self.shape)}" if self.ndim else ""
        where = f", device='{self.device}'" if self.device.type != "cpu" else ""
        return f"Key(impl='{self.impl}'{batch}{where})"

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]
        """Elementwise over the batch, as a bool tensor; keys of different impls are never equal."""
        if not isinstance(other, Key):
            return NotImplemented
        check_device("other", other.data, self)
        shape = _check.common_shape("other", other.shape, "key", self.shape)
        if self.impl != other.impl:
            return torch.zeros(shape, dtype=torch.bool, device=self.device)
        return (self.data == other.data).all(-1)

    __hash__ = None  # type: ignore[assignment]

    def equal(self, other: Key) -> bool:
        """Whether both are the same keys in the same shape and of the same impl."""
        if not isinstance(other, Key):
            raise TypeError(f"other must be a Key, got {_check.describe(other)}")
        return self.impl == other.impl and self.shape == other.shape and bool((self == other).all())

    # ---- Batches ----

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of a single key; only a batch of keys has a length")
        return self.data.shape[0]

    def __iter__(self) -> Iterator[Key]:
        if self.ndim == 0:
            raise TypeError("a single key cannot be iterated over or unpacked; split it first")
        return iter([wrap(data, self.impl) for data in self.data.unbind(0)])

    def __getitem__(self, index: Index) -> Key:
        """The keys at an index of the batch, as torch indexes. (It reads a tensor ``i`` without dimensions on the host,
        which makes a device wait; ``keys[i[None]]`` and :meth:`fold_in` do not.)"""
        indices = tuple(map(_as_index, index if isinstance(index, tuple) else (index,)))
        used = sum(_dimensions_taken(i) for i in indices)
        if used > self.ndim:
            raise IndexError(
                f"index must have at most {self.ndim} entries for a key of shape {tuple(self.shape)}, got {index!r}"
            )
        if any(i is Ellipsis for i in indices):
            indices = (*indices, slice(None))  # the words' dimension comes last
        if any(isinstance(i, Tensor) for i in indices):  # CUDA gathers no unsigned numbers
            _, dtype, signed, _ = IMPLS[self.impl]
            return wrap(self.data.view(signed)[indices].view(dtype), self.impl)
        return wrap(self.data[indices], self.impl)

    def reshape(self, *shape: Any) -> Key:
        """The same keys in a batch of another shape."""
        return wrap(self.data.reshape(*_varargs(shape), IMPLS[self.impl].words), self.impl)

    # ---- Where a key is ----

    def to(self, device: torch.device | str | int) -> Key:
        """The key on another device."""
        return wrap(self.data.to(torch.device(device)), self.impl)

    def cpu(self) -> Key:
        """The key on the CPU."""
        return self.to("cpu")

    def cuda(self, device: int | None = None) -> Key:
        """The key on a CUDA device; the current one by default."""
        return self.to(torch.device("cuda", torch.cuda.current_device() if device is None else device))

    def clone(self) -> Key:
        """A copy with memory of its own."""
        return wrap(self.data.clone(), self.impl)

    # ---- Saving ----

    def get_state(self) -> dict[str, Any]:
        """The key as plain numbers that any format can hold, JSON too; :meth:`from_state` reads it back."""
        words = self.data.cpu().reshape(-1).tolist()
        return {"impl": self.impl, "shape": list(self.shape), "words": words}

    @classmethod
    def from_state(cls, state: dict[str, Any], device: torch.device | str | None = None) -> Key:
        """The key of a state that :meth:`get_state` made."""
        if not isinstance(state, dict) or set(state) != {"impl", "shape", "words"}:
            raise ValueError("state must be a dict with impl, shape and words, as get_state makes it")
        check_impl(state["impl"])
        _, dtype, _, count = IMPLS[state["impl"]]
        bits = 8 * dtype.itemsize
        shape = _check.sizes("state's shape", state["shape"])
        if not isinstance(state["words"], (list, tuple)):
            raise TypeError(f"state's words must be a list of ints, got {_check.describe(state['words'])}")
        words = [_check.integer("state's word", w) for w in state["words"]]
        if len(words) != count * math.prod(shape) or not all(0 <= w < 2**bits for w in words):
            raise ValueError(f"state must hold {count} words of {bits} bits for each key of shape {tuple(shape)}")
        key = _rebuild_few(state["impl"], tuple(shape), words, "cpu")
        return key if device is None else key.to(device)

    def __reduce__(self) -> tuple[Any, ...]:
        # Few keys go as numbers: as a tensor, one key of a batch would take the memory of them all along.
        if self.data.numel() <= _FEW_WORDS:
            return _rebuild_few, (self.impl, tuple(self.shape), self.data.reshape(-1).tolist(), str(self.device))
        # Unsigned tensors cannot be pickled on their own; signed ones can.
        return _rebuild, (self.impl, self.data.view(IMPLS[self.impl].signed))

    def __copy__(self) -> Key:
        return wrap(self.data, self.impl)

    def __deepcopy__(self, memo: dict[int, Any]) -> Key:
        return self.clone()

    # ---- Deriving keys ----

    def split(self, num: int | Sequence[int] = 2) -> Key:
        """New keys that are independent of each other; see :func:`torch_threefry.random.split`."""
        shape = _check.sizes("num", num if isinstance(num, (tuple, list)) else (_check.integer("num", num),))
        check_words(self, "num", shape, 2)
        return wrap(_ops.split(self.data, IMPL_NUMBERS[self.impl], shape), self.impl)

    def fold_in(self, data: int | Tensor) -> Key:
        """A new key for a number; see :func:`torch_threefry.random.fold_in`."""
        number = IMPL_NUMBERS[self.impl]
        if isinstance(data, Tensor):
            return wrap(_ops.fold_in(self.data, number, _fold_in_data(self, data)), self.impl)
        value = _check.integer("data", data)
        if not -(2**63) <= value < 2**64:
            raise OverflowError(f"data must fit into 64 bits, -2^63 <= data < 2^64, got {data}")
        return wrap(_ops.fold_in_int(self.data, number, as_int64(value)), self.impl)

    # ---- Drawing, under torch's names ----

    def rand(self, *sizes: Any, size: Any = None, dtype: torch.dtype | None = None) -> Tensor:
        """Uniform on [0, 1), as ``torch.rand``: ``key.rand(3, 4)`` or ``key.rand((3, 4))``; the default dtype is
        torch's."""
        from . import random

        return random.uniform(self, _torch_size(sizes, size), dtype or torch.get_default_dtype())

    def randn(self, *sizes: Any, size: Any = None, dtype: torch.dtype | None = None) -> Tensor:
        """Standard normal, as ``torch.randn``; the default dtype is torch's."""
        from . import random

        return random.normal(self, _torch_size(sizes, size), dtype or torch.get_default_dtype())

    @overload
    def randint(self, high: int, size: Sequence[int], *, dtype: torch.dtype = ...) -> Tensor: ...
    @overload
    def randint(self, low: int, high: int, size: Sequence[int], *, dtype: torch.dtype = ...) -> Tensor: ...

    def randint(self, *args: Any, dtype: torch.dtype = torch.int64, **named: Any) -> Tensor:
        """Integers from [low, high), as ``torch.randint``: ``key.randint(high, size)`` or
        ``key.randint(low, high, size)``; int64 unless another integer dtype is asked for.

        Raises:
            ValueError: low is not below high, or a bound is outside of the dtype.
        """
        from . import random

        low, high, size = _randint_arguments(args, named)
        dtype = _check.dtype(dtype, torch.int64, _check.INTEGERS)
        info = torch.iinfo(dtype)
        if not info.min <= low < high <= info.max + 1:
            raise ValueError(
                f"low and high must satisfy {info.min} <= low < high <= {info.max + 1} for {dtype}, got low={low}, high={high}"
            )
        return random.randint(self, _check.sizes("size", size), low, high, dtype)

    def randperm(self, n: int, *, dtype: torch.dtype = torch.int64) -> Tensor:
        """A permutation of 0..n-1, as ``torch.randperm``: shape ``(*batch, n)``, n below 2^32-1, of an integer dtype
        that holds n-1."""
        n = _check.integer("n", n)
        check_permutation_size(self, "n", n)
        dtype = _check.dtype(dtype, torch.int64, _check.INTEGERS)
        if n - 1 > torch.iinfo(dtype).max:
            raise ValueError(f"n must be at most {torch.iinfo(dtype).max + 1} for {dtype}, got {n}")
        drawn = torch.int64 if dtype == torch.int64 or n > 2**31 - 1 else torch.int32
        result: Tensor = _ops.permutation(self.data, IMPL_NUMBERS[self.impl], n, _ops.DTYPE_CODES[drawn])
        return result.to(dtype)


def wrap(data: Tensor, impl: str) -> Key:
    """A Key without checks: its data is known to be right, or is a stand-in of a transform's."""
    key = Key.__new__(Key)
    key.data = data
    key.impl = impl
    return key


_FEW_WORDS = 256


def _rebuild(impl: str, data: Tensor) -> Key:
    return Key(data.view(IMPLS[impl].dtype), impl)


def _rebuild_few(impl: str, shape: tuple[int, ...], words: list[int], device: str) -> Key:
    return Key(data_of_words(words, shape, impl, device), impl)


def data_of_words(words: Sequence[int], shape: Sequence[int], impl: str, device: torch.device | str) -> Tensor:
    """The data of keys in a batch of a shape, of Python's numbers."""
    numbers = torch.tensor([signed_word(w) for w in words], dtype=torch.int64, device=device)
    return unsigned(numbers, IMPLS[impl].dtype).reshape((*shape, IMPLS[impl].words))


def unsigned(words: Tensor, dtype: torch.dtype) -> Tensor:
    """The low bits of int64 numbers as unsigned ones. (torch converts to uint64 on few devices.)"""
    return words.view(dtype) if dtype == torch.uint64 else words.to(dtype)


torch.serialization.add_safe_globals([_rebuild, _rebuild_few])


# ---- Keys in containers: torch.compile, torch.export and vmap take them apart and put them together ----

_pytree.register_pytree_node(
    Key,
    lambda key: ([key.data], key.impl),
    lambda children, impl: wrap(next(iter(children)), impl),
    serialized_type_name="torch_threefry.Key",
    flatten_with_keys_fn=lambda key: ([(_pytree.GetAttrKey("data"), key.data)], key.impl),
)


# ---- Checks and conversions ----


def check_impl(impl: Any) -> None:
    """ValueError unless ``impl`` names an implementation."""
    _check.one_of("impl", impl, IMPL_NUMBERS)


def _check_paths(data: Tensor) -> None:
    """ValueError unless threefry4x64's data are states of it. What lies on a device is not looked into, and what a
    transform or a mode has made of a tensor cannot be."""
    if type(data) is not Tensor or data.device.type != "cpu" or torch.compiler.is_compiling():
        return
    if torch._C._functorch.is_functorch_wrapped_tensor(data) or torch._C._len_torch_dispatch_stack() > 0:
        return
    path_hi, path_lo, _, _, marker_hi, marker_lo = data.view(torch.int64)[..., 4:].unbind(-1)
    is_one_bit = ((marker_hi & (marker_hi - 1)) | (marker_lo & (marker_lo - 1))) == 0
    in_one_word = (marker_hi == 0) != (marker_lo == 0)
    # No bit of the path at the marker or after it.
    after_hi = torch.where(marker_hi != 0, marker_hi | (marker_hi - 1), 0)
    after_lo = torch.where(marker_hi != 0, -1, marker_lo | (marker_lo - 1))
    ends = ((path_hi & after_hi) | (path_lo & after_lo)) == 0
    if not bool((is_one_bit & in_one_word & ends & (marker_lo != 1)).all()):
        raise ValueError(
            "key data of threefry4x64 must be [key 4 | path 2 | counter 2 | next path bit 2], high words first, the last "
            f"one of the bits 127 to 1, and the path 0 from there on; got {_some_words(data)}"
        )


def _some_words(data: Tensor) -> str:
    """The words of a few keys, for an error message."""
    rows = data.reshape(-1, data.shape[-1])
    words = [[hex(word) for word in row] for row in rows[:2].tolist()]
    return f"{words}" + (f" and {len(rows) - 2} more" if len(rows) > 2 else "")


def check_words(key: Key, name: str, shape: Sequence[int], words: float) -> None:
    """The original layout cannot address a draw of more than 2^32-2 words, of which an element takes ``words``."""
    if key.impl != "threefry2x32_original" or torch.compiler.is_compiling():  # there the operators check it
        return
    if words * math.prod(shape) > 2**32 - 2:
        raise ValueError(
            f"{name} {tuple(shape)} takes more than 2^32-2 words, which threefry2x32_original cannot address; "
            "use threefry2x32"
        )


def check_permutation_size(key: Key, name: str, n: int) -> None:
    """A permutation's length."""
    if not 0 <= n < 2**32 - 1:
        raise ValueError(f"{name} must satisfy 0 <= n < 2^32-1, got {n}")
    check_words(key, name, (n,), 1)


def check_device(name: str, value: Tensor, key: Key) -> None:
    """ValueError unless a tensor lies on the key's device."""
    if value.device != key.device:
        raise ValueError(f"{name} must lie on the key's device {key.device}, got {value.device}")


def placed(name: str, value: Tensor, key: Key) -> Tensor:
    """A tensor on the key's device; one without dimensions is copied to it."""
    if value.dim() > 0:
        check_device(name, value, key)
        return value
    return value if value.device == key.device else copied(value, key.device)


def copied(value: Tensor, device: torch.device, dtype: torch.dtype | None = None) -> Tensor:
    """A tensor on another device. Only a copy to a device may go on by itself: one to the CPU would be read before it
    has arrived."""
    return value.to(device, dtype, non_blocking=device.type != "cpu")


def as_int64(value: int) -> int:
    """The 64 bits of a number in [-2^63, 2^64) as a signed number."""
    return value - 2**64 if value >= 2**63 else value


def signed_word(word: int) -> int:
    """The same of a number in [0, 2^64), without a branch: compiled code cannot guard on a part of a seed that changes."""
    return (word ^ 2**63) - 2**63


def as_int64_tensor(value: Tensor) -> Tensor:
    """The 64 bits of each integer as an int64 tensor."""
    return value.view(torch.int64) if value.dtype == torch.uint64 else value.to(torch.int64)


def _fold_in_data(key: Key, data: Tensor) -> Tensor:
    if data.dtype not in _check.INTEGERS:
        raise TypeError(f"data must be an int or an integer tensor, got {_check.describe(data)}")
    _check.common_shape("data", data.shape, "key", key.shape)
    return placed("data", as_int64_tensor(data), key)


def _as_index(index: Any) -> Any:
    """One entry of an index; sequences and numpy's arrays as tensors."""
    listed = isinstance(index, (list, tuple)) or hasattr(index, "__array_interface__")
    return torch.as_tensor(index) if listed else index


def _dimensions_taken(index: Any) -> int:
    """How many dimensions of the batch one entry of an index uses up."""
    if index is None or index is Ellipsis:
        return 0
    if isinstance(index, Tensor) and index.dtype in (torch.bool, torch.uint8):  # masks
        return index.dim()
    return 1


def _varargs(size: tuple[Any, ...]) -> Any:
    """Sizes given one by one, or as one sequence."""
    return size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size


def _torch_size(sizes: tuple[Any, ...], size: Any) -> Sequence[int]:
    """A size given in any of torch.rand's ways."""
    if size is not None and sizes:
        raise TypeError(f"size must be given once, got {sizes!r} and size={size!r}")
    return _check.sizes("size", _varargs(sizes) if size is None else size)


def _randint_arguments(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[int, int, Any]:
    """low, high and size from either of torch.randint's call forms."""
    order = ("low", "high", "size") if len(args) + len(named) == 3 else ("high", "size")
    free = [name for name in order if name not in named]
    if len(args) != len(free) or any(name not in order for name in named):
        raise TypeError(f"randint takes (high, size) or (low, high, size), got {args!r} and {named!r}")
    values = {"low": 0, **named, **dict(zip(free, args))}
    return _check.integer("low", values["low"]), _check.integer("high", values["high"]), values["size"]
