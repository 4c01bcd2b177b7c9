"""Wrong calls: the exception's type, and a message that names the argument and what came.

Right beside them stand the calls at the edge of what is allowed, so that a check that refuses
too much is found as well.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from torch_threefry import Key, _ops, random, threefry, threefry_2x32, tvm

KEY = random.key(0)
KEYS = random.split(KEY, 3)
ORIGINAL = random.key(0, impl="threefry2x32_original")
ELEMENTWISE: dict[str, Callable[..., torch.Tensor]] = {
    "bits": random.bits,
    "uniform": random.uniform,
    "normal": random.normal,
    "exponential": random.exponential,
    "gumbel": random.gumbel,
    "laplace": random.laplace,
    "logistic": random.logistic,
    "rademacher": random.rademacher,
    "randint": lambda key, shape=(), **kw: random.randint(key, shape, 0, 10, **kw),
    "bernoulli": lambda key, shape=(), **kw: random.bernoulli(key, 0.5, shape, **kw),
    "cauchy": lambda key, shape=(), **kw: random.cauchy(key, shape, **kw),
    "maxwell": lambda key, shape=(), **kw: random.maxwell(key, shape, **kw),
}
# The samplers with parameters: their names, each with a number that is allowed.
PARAMETERS: dict[str, dict[str, float]] = {
    "double_sided_maxwell": {"loc": 1.0, "scale": 0.5},
    "truncated_normal": {"lower": -1.0, "upper": 2.0},
    "gamma": {"a": 2.5},
    "loggamma": {"a": 2.5},
    "beta": {"a": 2.0, "b": 0.5},
    "chisquare": {"df": 3.0},
    "f": {"dfnum": 3.0, "dfden": 7.0},
    "t": {"df": 4.0},
    "pareto": {"b": 3.0},
    "rayleigh": {"scale": 2.0},
    "wald": {"mean": 2.0},
    "weibull_min": {"scale": 2.0, "concentration": 1.5},
    "lognormal": {"sigma": 0.5},
    "triangular": {"left": -1.0, "mode": 0.5, "right": 2.0},
    "generalized_normal": {"p": 3.0},
    "geometric": {"p": 0.3},
    "poisson": {"lam": 20.0},
    "binomial": {"n": 40, "p": 0.4},
}
COUNTS = ("geometric", "poisson", "binomial")


def with_parameters(name: str) -> Callable[..., torch.Tensor]:
    """A sampler with the parameters above, but for those that are given."""

    def draw(key: Any, shape: Any = (), **kw: Any) -> torch.Tensor:
        sampler: Callable[..., torch.Tensor] = getattr(random, name)
        return sampler(key, **{**PARAMETERS[name], **kw}, shape=shape)

    return draw


ELEMENTWISE.update({name: with_parameters(name) for name in PARAMETERS})
ROWS: dict[str, Callable[..., torch.Tensor]] = {
    "dirichlet": lambda key, shape=(), **kw: random.dirichlet(key, torch.tensor([1.0, 2.0, 3.0]), shape, **kw),
    "ball": lambda key, shape=(), **kw: random.ball(key, 3, 2, shape, **kw),
    "multinomial": lambda key, shape=(), **kw: random.multinomial(
        key, 10, torch.tensor([0.2, 0.3, 0.5]), shape=(*shape, 3), **kw
    ),
}
MATRICES: dict[str, Callable[..., torch.Tensor]] = {
    "multivariate_normal": lambda key, shape=(), **kw: random.multivariate_normal(
        key, torch.zeros(2), torch.eye(2), shape, **kw
    ),
    "orthogonal": lambda key, shape=(), **kw: random.orthogonal(key, 2, shape, **kw),
}
SELECTIONS: dict[str, Callable[..., torch.Tensor]] = {
    "permutation": lambda key: random.permutation(key, 5),
    "shuffle": lambda key: random.shuffle(key, torch.arange(5)),
    "choice": lambda key: random.choice(key, 5),
    "categorical": lambda key: random.categorical(key, torch.zeros(3)),
}
KEY_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "split": random.split,
    "fold_in": lambda key: random.fold_in(key, 1),
    "clone": random.clone,
    "key_data": random.key_data,
    "key_impl": random.key_impl,
}
each_sampler = pytest.mark.parametrize("name", ELEMENTWISE)


def refuses(error: type[Exception], call: Callable[[], Any], name: str, *came: str | tuple[str, ...]) -> None:
    """The call raises exactly this kind of exception, and its message names the argument and what came.

    Each further entry has to be in the message; of a tuple of entries, one of them.
    """
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert type(caught.value) is error, message
    assert re.search(rf"\b{name}\b", message), message
    for entry in came:
        assert any(text in message for text in ((entry,) if isinstance(entry, str) else entry)), message


def value(x: Any) -> tuple[str, ...]:
    """A message may show the value or name its type."""
    return repr(x), type(x).__name__, type(x).__name__.lower()


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def size(*shape: int) -> tuple[str, ...]:
    """A shape as Python writes it, or as torch does."""
    return str(shape), str(list(shape))


def uint32(*words: int) -> torch.Tensor:
    return torch.tensor(words).to(torch.uint32)


# --- keys


@pytest.mark.parametrize("make", [random.key, random.PRNGKey])
@pytest.mark.parametrize("seed", [1.0, True, None, "1", 2.5, math.nan, (1,)])
def test_seed_of_wrong_type(make: Callable[..., Key], seed: Any) -> None:
    refuses(TypeError, lambda: make(seed), "seed", value(seed))


@pytest.mark.parametrize("make", [random.key, random.PRNGKey])
@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1, 10**30])
def test_seed_out_of_range(make: Callable[..., Key], seed: int) -> None:
    refuses(OverflowError, lambda: make(seed), "seed", str(seed))


@pytest.mark.parametrize("seed", [2**64 - 1, -(2**63)])
def test_seed_at_the_ends_of_its_range(seed: int) -> None:
    high, low = seed >> 32 & 0xFFFFFFFF, seed & 0xFFFFFFFF
    assert random.key_data(random.key(seed)).tolist() == [high, low]


@pytest.mark.parametrize("impl", ["threefry", "", "rbg"])
def test_unknown_impl(impl: str) -> None:
    refuses(ValueError, lambda: random.key(0, impl=impl), "impl", repr(impl), "threefry2x32")
    refuses(ValueError, lambda: random.PRNGKey(0, impl=impl), "impl", repr(impl), "threefry2x32")
    refuses(ValueError, lambda: random.wrap_key_data(uint32(0, 1), impl=impl), "impl", repr(impl), "threefry2x32")


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.float32, torch.uint8, torch.uint64])
def test_key_data_of_wrong_dtype(dtype: torch.dtype) -> None:
    data = torch.zeros(2, dtype=dtype)
    refuses(TypeError, lambda: random.wrap_key_data(data), "data", dtype_name(dtype), "uint32")


@pytest.mark.parametrize("shape", [(3,), (2, 1), (), (0,), (2, 4)])
def test_key_data_of_wrong_shape(shape: tuple[int, ...]) -> None:
    data = torch.zeros(shape, dtype=torch.int32).view(torch.uint32)
    refuses(ValueError, lambda: random.wrap_key_data(data), "data", size(*shape), "2")


@pytest.mark.parametrize("data", [[0, 1], None, 7])
def test_key_data_that_is_no_tensor(data: Any) -> None:
    refuses(TypeError, lambda: random.wrap_key_data(data), "data", value(data))


@pytest.mark.parametrize("key", [uint32(0, 1), None, 0, (0, 1)], ids=["tensor", "None", "int", "tuple"])
@pytest.mark.parametrize("name", [*ELEMENTWISE, *ROWS, *MATRICES, *SELECTIONS, *KEY_FUNCTIONS])
def test_something_else_than_a_key(name: str, key: Any) -> None:
    call = {**ELEMENTWISE, **ROWS, **MATRICES, **SELECTIONS, **KEY_FUNCTIONS}[name]
    refuses(TypeError, lambda: call(key), "key", value(key), "Key")


@pytest.mark.parametrize("num", [-3, (2, -3)])
def test_negative_num(num: Any) -> None:
    refuses(ValueError, lambda: random.split(KEY, num), "num", "-3")
    refuses(ValueError, lambda: KEY.split(num), "num", "-3")


@pytest.mark.parametrize("num", [2.0, "2", None])
def test_num_of_wrong_type(num: Any) -> None:
    refuses(TypeError, lambda: random.split(KEY, num), "num", value(num))


def test_num_of_too_many_keys() -> None:
    refuses(ValueError, lambda: random.split(KEY, (2**32, 2**32)), "num", str(2**32))
    # Two words a key, and the original layout counts its words with 32 bits.
    refuses(ValueError, lambda: random.split(ORIGINAL, 2**31), "num", str(2**31), "threefry2x32")


@pytest.mark.parametrize("data", [2**64, -(2**63) - 1])
def test_fold_in_of_too_large_a_number(data: int) -> None:
    refuses(OverflowError, lambda: random.fold_in(KEY, data), "data", str(data))
    refuses(OverflowError, lambda: KEY.fold_in(data), "data", str(data))


@pytest.mark.parametrize("data", [1.0, None, "1"])
def test_fold_in_of_something_else_than_an_integer(data: Any) -> None:
    refuses(TypeError, lambda: random.fold_in(KEY, data), "data", value(data))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.complex64])
def test_fold_in_of_a_tensor_of_wrong_dtype(dtype: torch.dtype) -> None:
    refuses(TypeError, lambda: random.fold_in(KEY, torch.ones(3, dtype=dtype)), "data", dtype_name(dtype))


def test_fold_in_of_a_tensor_that_does_not_broadcast() -> None:
    refuses(ValueError, lambda: random.fold_in(KEYS, torch.arange(4)), "data", size(4), size(3))


# --- sizes


@each_sampler
def test_negative_size(name: str) -> None:
    refuses(ValueError, lambda: ELEMENTWISE[name](KEY, (3, -2)), "shape", "-2")


@each_sampler
@pytest.mark.parametrize("shape", [(3.0,), ("3",), (None,), (2, 1.5)])
def test_size_of_wrong_type(name: str, shape: Any) -> None:
    refuses(TypeError, lambda: ELEMENTWISE[name](KEY, shape), "shape", value(shape[-1]))


@each_sampler
@pytest.mark.parametrize("shape", [(2**63,), (2**32, 2**31), (2**40, 2**40, 0, 2**63)])
def test_more_elements_than_there_are_counters(name: str, shape: tuple[int, ...]) -> None:
    refuses(ValueError, lambda: ELEMENTWISE[name](KEY, shape), "shape", str(shape[0]))


@pytest.mark.parametrize("name", [name for name in ELEMENTWISE if name != "binomial"])
def test_more_words_than_the_original_layout_has(name: str) -> None:
    """Binomial draws take their words from streams that do not end there."""
    shape = (2**16, 2**16)
    refuses(ValueError, lambda: ELEMENTWISE[name](ORIGINAL, shape), "shape", str(2**16), "use threefry2x32")


@pytest.mark.parametrize(
    ("dtype", "per_word"), [(torch.uint8, 4), (torch.uint16, 2), (torch.uint32, 1), (torch.uint64, 0.5)]
)
def test_where_the_original_layout_ends(dtype: torch.dtype, per_word: float) -> None:
    """2**32 - 2 words of 32 bits, however many elements they make."""
    most = int((2**32 - 2) * per_word)
    assert random.bits(ORIGINAL, (most,), dtype, window=[(most - 1, most)]).shape == (1,)
    window = [(most, most + 1)]
    refuses(
        ValueError,
        lambda: random.bits(ORIGINAL, (most + 1,), dtype, window=window),
        "shape",
        "use threefry2x32",
    )


def test_where_the_default_layout_ends() -> None:
    most = 2**63 - 1
    assert random.bits(KEY, (most,), window=[(most - 2, most)]).shape == (2,)
    assert random.bits(KEY, (7, most // 7), window=[(6, 7), (most // 7 - 1, most // 7)]).shape == (1, 1)


# --- dtypes


WRONG_DTYPES = {
    "bits": (torch.int32, torch.float32, torch.bool),
    "uniform": (torch.int32, torch.complex64, torch.bool),
    "normal": (torch.int32, torch.complex64, torch.uint8),
    "exponential": (torch.int64, torch.bool),
    "gumbel": (torch.int32, torch.complex64),
    "laplace": (torch.int32, torch.complex64),
    "logistic": (torch.int32, torch.complex64),
    "rademacher": (torch.bool,),
    "randint": (torch.float32, torch.bool, torch.complex64),
    "cauchy": (torch.int32, torch.complex64),
    "maxwell": (torch.int32, torch.complex64),
    **{name: (torch.int32, torch.complex64, torch.bool) for name in PARAMETERS if name not in COUNTS},
    **{name: (torch.uint8, torch.uint32, torch.complex64, torch.bool) for name in COUNTS},
}


@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n, dtypes in WRONG_DTYPES.items() for d in dtypes])
def test_unsupported_dtype(name: str, dtype: torch.dtype) -> None:
    refuses(TypeError, lambda: ELEMENTWISE[name](KEY, (3,), dtype=dtype), "dtype", dtype_name(dtype))


@pytest.mark.parametrize("name", WRONG_DTYPES)
@pytest.mark.parametrize("dtype", ["float32", float, 3])
def test_dtype_that_is_none(name: str, dtype: Any) -> None:
    refuses(TypeError, lambda: ELEMENTWISE[name](KEY, (3,), dtype=dtype), "dtype")


@pytest.mark.parametrize("name", WRONG_DTYPES)
def test_no_dtype_is_the_default(name: str) -> None:
    default = ELEMENTWISE[name](KEY, (3,))
    draw = ELEMENTWISE[name](KEY, (3,), dtype=None)
    assert draw.dtype == default.dtype
    assert torch.equal(draw, default)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int8, torch.bool])
def test_unsupported_index_dtype(dtype: torch.dtype) -> None:
    refuses(TypeError, lambda: random.choice(KEY, 5, (2,), index_dtype=dtype), "index_dtype", dtype_name(dtype))
    logits = torch.zeros(3)
    refuses(
        TypeError,
        lambda: random.categorical(KEY, logits, index_dtype=dtype),
        "index_dtype",
        dtype_name(dtype),
    )


# --- windows


@each_sampler
@pytest.mark.parametrize(
    "window",
    [
        ((0, 5), (0, 3)),
        ((0, 4), (-1, 3)),
        ((2, 1), (0, 3)),
        ((0, 4), (4, 4)),
        ((0, 4),),
        ((0, 4), (0, 3), (0, 1)),
        (),
    ],
    ids=str,
)
def test_window_outside_the_shape(name: str, window: Any) -> None:
    refuses(ValueError, lambda: ELEMENTWISE[name](KEY, (4, 3), window=window), "window", size(4, 3))


@each_sampler
@pytest.mark.parametrize("window", [((0.0, 4), (0, 3)), ((0, None), (0, 3)), ((0, "4"), (0, 3))], ids=str)
def test_window_of_wrong_type(name: str, window: Any) -> None:
    refuses(TypeError, lambda: ELEMENTWISE[name](KEY, (4, 3), window=window), "window")


@each_sampler
@pytest.mark.parametrize("window", [3, (0, 4), ("04", (0, 3)), ((0, 4), (0, 1, 3)), ((0, 4), (1,))], ids=str)
def test_window_that_is_no_sequence_of_pairs(name: str, window: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="window"):
        ELEMENTWISE[name](KEY, (4, 3), window=window)


@each_sampler
def test_windows_at_the_edge(name: str) -> None:
    sampler = ELEMENTWISE[name]
    assert torch.equal(sampler(KEY, (4, 3), window=((0, 4), (0, 3))), sampler(KEY, (4, 3)))
    assert sampler(KEY, (4, 3), window=((4, 4), (1, 3))).shape == (0, 2)
    assert torch.equal(sampler(KEY, (), window=()), sampler(KEY, ()))


# --- parameters


@pytest.mark.parametrize("bound", ["minval", "maxval"])
def test_bounds_that_do_not_broadcast(bound: str) -> None:
    floats, integers = torch.zeros(4), torch.zeros(4, dtype=torch.int32)
    bounds = {"minval": 0, "maxval": 1}
    refuses(ValueError, lambda: random.uniform(KEY, (2, 3), **{bound: floats}), bound, size(4), size(2, 3))
    refuses(
        ValueError,
        lambda: random.randint(KEY, (2, 3), **{**bounds, bound: integers}),
        bound,
        size(4),
        size(2, 3),
    )


@pytest.mark.parametrize("bound", ["minval", "maxval"])
def test_bounds_larger_than_the_shape(bound: str) -> None:
    """A draw has the shape that was asked for: a bound does not enlarge it."""
    floats, integers = torch.zeros(5, 2, 3), torch.zeros(5, 2, 3, dtype=torch.int32)
    bounds = {"minval": 0, "maxval": 1}
    refuses(ValueError, lambda: random.uniform(KEY, (2, 3), **{bound: floats}), bound, size(5, 2, 3), size(2, 3))
    refuses(
        ValueError,
        lambda: random.randint(KEY, (2, 3), **{**bounds, bound: integers}),
        bound,
        size(5, 2, 3),
        size(2, 3),
    )


@pytest.mark.parametrize("bound", ["minval", "maxval"])
@pytest.mark.parametrize("wrong", ["1", [1], (1,)])
def test_bounds_of_wrong_type(bound: str, wrong: Any) -> None:
    bounds = {"minval": 0, "maxval": 10, bound: wrong}
    refuses(TypeError, lambda: random.randint(KEY, (3,), **bounds), bound, value(wrong))
    refuses(TypeError, lambda: random.uniform(KEY, (3,), **bounds), bound, value(wrong))


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan, math.inf, -math.inf, 1 + 1e-6, -1e-30, 2, -1])
def test_probability_outside_its_range(p: float) -> None:
    refuses(ValueError, lambda: random.bernoulli(KEY, p, (3,)), "p", str(p), "[0, 1]")


@pytest.mark.parametrize("p", ["0.5", None, [0.5]])
def test_probability_of_wrong_type(p: Any) -> None:
    refuses(TypeError, lambda: random.bernoulli(KEY, p, (3,)), "p", value(p))


def test_probability_of_wrong_dtype() -> None:
    refuses(TypeError, lambda: random.bernoulli(KEY, torch.ones(3, dtype=torch.int32), (3,)), "p", "int32")


def test_probabilities_that_do_not_broadcast() -> None:
    refuses(ValueError, lambda: random.bernoulli(KEY, torch.ones(4), (2, 3)), "p", size(4), size(2, 3))


@pytest.mark.parametrize(("p", "all_true"), [(0, False), (1, True), (0.0, False), (1.0, True)])
def test_probabilities_at_the_ends(p: float, all_true: bool) -> None:
    for mode in ("low", "high"):
        assert random.bernoulli(KEY, p, (99,), mode=mode).tolist() == [all_true] * 99


@pytest.mark.parametrize("mode", ["", "middle", "HIGH"])
def test_unknown_mode(mode: str) -> None:
    logits = torch.zeros(3)
    refuses(ValueError, lambda: random.gumbel(KEY, (3,), mode=mode), "mode", repr(mode), "high")
    refuses(ValueError, lambda: random.bernoulli(KEY, 0.5, (3,), mode=mode), "mode", repr(mode), "high")
    refuses(ValueError, lambda: random.categorical(KEY, logits, mode=mode), "mode", repr(mode), "high")
    p = torch.ones(3) / 3
    refuses(ValueError, lambda: random.choice(KEY, 3, (2,), False, p, mode=mode), "mode", repr(mode), "high")


# --- orders and selections


def test_sample_larger_than_the_population() -> None:
    p = torch.ones(3) / 3
    refuses(ValueError, lambda: random.choice(KEY, 3, (2, 2), replace=False), "shape", size(2, 2), "3")
    refuses(ValueError, lambda: random.choice(KEY, 3, (4,), replace=False, p=p), "shape", "4", "3")
    refuses(
        ValueError,
        lambda: random.categorical(KEY, torch.zeros(3), shape=(4,), replace=False),
        "shape",
        "4",
        "3",
    )
    assert random.choice(KEY, 3, (3,), replace=False).sort().values.tolist() == [0, 1, 2]


@pytest.mark.parametrize("shape", [(2,), (4,), (3, 1), ()])
def test_weights_of_wrong_shape(shape: tuple[int, ...]) -> None:
    refuses(ValueError, lambda: random.choice(KEY, 3, (2,), p=torch.ones(shape)), "p", size(*shape), "3")


@pytest.mark.parametrize("a", [0, torch.zeros(0), torch.zeros(2, 0, 3), -3], ids=["0", "empty", "empty matrix", "-3"])
def test_choice_from_nothing(a: Any) -> None:
    axis = 1 if isinstance(a, torch.Tensor) and a.ndim > 1 else 0
    refuses(ValueError, lambda: random.choice(KEY, a, (2,), axis=axis), "a")


@pytest.mark.parametrize("axis", [2, -3])
def test_axis_outside_the_array(axis: int) -> None:
    x = torch.zeros(2, 3)
    calls: list[Callable[[], Any]] = [
        lambda: random.permutation(KEY, x, axis=axis),
        lambda: random.shuffle(KEY, x, axis=axis),
        lambda: random.choice(KEY, x, (2,), axis=axis),
        lambda: random.categorical(KEY, x, axis=axis),
    ]
    for call in calls:
        with pytest.raises((IndexError, ValueError)) as caught:
            call()
        assert "axis" in str(caught.value) and str(axis) in str(caught.value)


def test_permutation_of_a_negative_or_broken_number() -> None:
    refuses(ValueError, lambda: random.permutation(KEY, -1), "x", "-1")
    refuses(TypeError, lambda: random.permutation(KEY, 2.5), "x", "float")
    refuses(TypeError, lambda: random.permutation(KEY, None), "x", "NoneType")


def test_categorical_of_wrong_logits() -> None:
    refuses(TypeError, lambda: random.categorical(KEY, torch.zeros(3, dtype=torch.int32)), "logits", "int32")
    refuses(TypeError, lambda: random.categorical(KEY, None), "logits", "NoneType")
    refuses(ValueError, lambda: random.categorical(KEY, torch.zeros(4, 3), shape=(5,)), "shape", size(5), size(4))


# --- the bare cipher


@pytest.mark.parametrize(("words", "most"), [(2, 32), (4, 72)])
@pytest.mark.parametrize("beyond", [True, False])
def test_cipher_of_wrong_rounds(words: int, most: int, beyond: bool) -> None:
    rounds, zeros = most + 1 if beyond else 0, uint32(*[0] * words)
    refuses(ValueError, lambda: threefry(zeros, zeros, rounds), "rounds", str(rounds), str(most))


def test_rounds_of_wrong_type() -> None:
    refuses(TypeError, lambda: threefry(uint32(0, 0), uint32(0, 0), 20.0), "rounds", value(20.0))


def test_cipher_of_wrong_words() -> None:
    refuses(TypeError, lambda: threefry(torch.zeros(2), uint32(0, 0)), "counter", "float32")
    refuses(TypeError, lambda: threefry(uint32(0, 0), torch.zeros(2)), "key", "float32")
    refuses(TypeError, lambda: threefry([0, 0], uint32(0, 0)), "counter", "list")
    refuses(TypeError, lambda: threefry(uint32(0, 0), None), "key", "NoneType")
    refuses(TypeError, lambda: threefry(uint32(0, 0), uint32(0, 0).to(torch.uint64)), "key", "uint64")


def test_cipher_of_wrong_shapes() -> None:
    refuses(ValueError, lambda: threefry(uint32(0, 0, 0), uint32(0, 0, 0)), "counter", size(3))
    refuses(ValueError, lambda: threefry(uint32(0, 0, 0, 0), uint32(0, 0)), "key", size(2))
    three, four = (torch.zeros(n, 2, dtype=torch.int32).view(torch.uint32) for n in (3, 4))
    refuses(ValueError, lambda: threefry(three, four), "key", size(3, 2), size(4, 2))


def test_array_form_of_wrong_words() -> None:
    refuses(TypeError, lambda: threefry_2x32(uint32(0, 0), torch.zeros(3)), "count", "float32")
    refuses(TypeError, lambda: threefry_2x32(torch.zeros(2), uint32(0, 0)), "keypair", "float32")
    refuses(ValueError, lambda: threefry_2x32(uint32(0, 0, 0), uint32(0, 0)), "keypair", size(3))


# --- torch's own methods


def test_methods_of_wrong_sizes() -> None:
    refuses(ValueError, lambda: KEY.rand(3, -1), "size", "-1")
    refuses(ValueError, lambda: KEY.randn(-1), "size", "-1")
    refuses(ValueError, lambda: KEY.randint(10, (-1,)), "size", "-1")
    refuses(ValueError, lambda: KEY.randperm(-1), "n", "-1")
    refuses(TypeError, lambda: KEY.rand(2.0), "size", "2.0")
    refuses(TypeError, lambda: KEY.randperm(2.0), "n", "float")


def test_methods_of_wrong_dtypes() -> None:
    refuses(TypeError, lambda: KEY.rand(3, dtype=torch.int32), "dtype", "int32")
    refuses(TypeError, lambda: KEY.randn(3, dtype=torch.int64), "dtype", "int64")
    refuses(TypeError, lambda: KEY.randperm(3, dtype=torch.bool), "dtype", "bool")


def test_more_items_than_the_dtype_can_number() -> None:
    refuses(ValueError, lambda: KEY.randperm(300, dtype=torch.uint8), "n", "300", "uint8")
    refuses(ValueError, lambda: random.choice(KEY, 2**31 + 1, (3,)), "a", str(2**31 + 1), "int32")
    assert sorted(KEY.randperm(256, dtype=torch.uint8).tolist()) == list(range(256))
    assert int(random.choice(KEY, 2**40, (99,), index_dtype=torch.int64).max()) > 2**32


# --- nothing to draw


@each_sampler
@pytest.mark.parametrize("shape", [(0,), (4, 0, 3), (0, 2**40)])
@pytest.mark.parametrize("impl", ["threefry2x32", "threefry2x32_original"])
def test_empty_draws(name: str, shape: tuple[int, ...], impl: str) -> None:
    draw = ELEMENTWISE[name](random.key(0, impl=impl), shape)
    assert draw.shape == shape
    assert draw.dtype == ELEMENTWISE[name](KEY, (1,)).dtype


@each_sampler
def test_no_keys(name: str) -> None:
    assert ELEMENTWISE[name](random.split(KEY, 0), (3, 2)).shape == (0, 3, 2)


def test_empty_selections() -> None:
    assert random.permutation(KEY, 0).shape == (0,)
    assert random.permutation(KEY, torch.zeros(0, 3)).shape == (0, 3)
    assert random.permutation(KEY, torch.zeros(3, 0), axis=0, independent=True).shape == (3, 0)
    assert random.shuffle(KEY, torch.zeros(3, 0), axis=1).shape == (3, 0)
    assert random.choice(KEY, 5, (0,)).shape == (0,)
    assert random.choice(KEY, 5, (2, 0), replace=False).shape == (2, 0)
    assert random.choice(KEY, 0, (0,)).shape == (0,)
    assert random.choice(KEY, torch.zeros(4, 3), (0,), axis=1).shape == (4, 0)
    assert random.categorical(KEY, torch.zeros(0, 3)).shape == (0,)
    assert random.categorical(KEY, torch.zeros(2, 3), shape=(0, 2)).shape == (0, 2)
    assert random.split(KEY, 0).shape == (0,)
    assert random.split(KEY, (2, 0)).shape == (2, 0)
    assert random.permutation(random.split(KEY, 0), 5).shape == (0, 5)
    assert KEY.rand(0).shape == (0,)
    assert KEY.randperm(0).shape == (0,)


# --- found by trying


@pytest.mark.parametrize("bound", [math.inf, -math.inf, math.nan, 1e39, 10**400])
def test_uniform_bounds_must_be_finite(bound: float) -> None:
    refuses(ValueError, lambda: random.uniform(KEY, (3,), maxval=bound), "maxval", (repr(bound), "digits"))


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [(torch.float32, -3e38, 3e38), (torch.float16, -40000.0, 40000.0), (torch.float16, -32719.0, 32785.0)],
)
def test_uniform_bounds_must_not_be_too_far_apart(dtype: torch.dtype, low: float, high: float) -> None:
    refuses(ValueError, lambda: random.uniform(KEY, (3,), dtype, low, high), "minval", repr(high - low))
    bounds = torch.tensor(low, dtype=dtype), torch.tensor(high, dtype=dtype)
    drawn = random.uniform(KEY, (3,), dtype, *bounds)
    assert bool(drawn.isnan().all()) or not math.isinf(float(bounds[1] - bounds[0]))


@pytest.mark.parametrize("bound", [math.inf, math.nan])
def test_uniform_is_nan_where_a_tensor_bound_is_not_finite(bound: float) -> None:
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        drawn = random.uniform(KEY, (2,), dtype, maxval=torch.tensor([1.0, bound], dtype=dtype))
        assert drawn.isnan().tolist() == [False, True]


@pytest.mark.parametrize("p", [[0.0, 0.0, 0.0], [-1.0, 1.0, 1.0], [math.nan, 1.0, 1.0], ["a", "b", "c"]])
def test_choice_looks_at_listed_probabilities(p: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="p must"):
        random.choice(KEY, 3, (2,), p=p)


def test_choice_without_replacement_needs_enough_positive_probabilities() -> None:
    refuses(ValueError, lambda: random.choice(KEY, 3, (2,), False, [1.0, 0.0, 0.0]), "p", "2 positive")
    assert sorted(random.choice(KEY, 3, (2,), False, [0.5, 0.0, 0.5]).tolist()) == [0, 2]


def test_choice_refuses_weights_that_are_no_probabilities() -> None:
    for bad in (math.nan, -1.0):
        for make in (list, torch.tensor):
            weights = make([1.0, bad, 1.0])
            refuses(ValueError, lambda w=weights: random.choice(KEY, 3, (50,), p=w), "p", "negative")


def test_choice_stays_in_range_whatever_the_weights() -> None:
    """Where they are not looked into."""
    weights = torch.tensor([[1.0, math.nan, 1.0]])
    drawn = torch.vmap(lambda p: random.choice(KEY, 3, (50,), p=p))(weights)
    assert 0 <= int(drawn.min()) and int(drawn.max()) <= 2


@pytest.mark.parametrize("impl", [["threefry2x32"], 0, "mt19937", None.__class__])
def test_impl_must_be_a_name(impl: Any) -> None:
    refuses(ValueError, lambda: random.key(0, impl=impl), "impl", repr(impl))


def test_randint_bounds_must_lie_in_the_wide_types() -> None:
    refuses(ValueError, lambda: random.randint(KEY, (3,), 0, 2**40), "maxval", str(2**40))
    refuses(ValueError, lambda: random.randint(KEY, (3,), -1, 5, torch.uint32), "minval", "-1")
    assert random.randint(KEY, (3,), 0, 1000, torch.uint8).dtype == torch.uint8  # clipped, as in JAX


def test_results_too_large_to_hold_are_refused() -> None:
    for shape in ((2**62,), (2**31, 2**31)):
        with pytest.raises(RuntimeError, match="size"):
            random.normal(KEY, shape)
    with pytest.raises(RuntimeError, match="size"):
        random.normal(KEYS, (2**62,))
    assert random.normal(KEY, (1,) * 60).shape == (1,) * 60
    with pytest.raises(RuntimeError, match="dimensions"):
        random.normal(KEY, (1,) * 65)


def test_operators_check_their_tensors() -> None:
    ops = torch.ops.torch_threefry
    data = KEY.data
    calls: list[Callable[[], Any]] = [
        lambda: ops.bits(data.to(torch.int64), 0, [3], None, 28),
        lambda: ops.bits(data[:1], 0, [3], None, 28),
        lambda: ops.bits(data, 7, [3], None, 28),
        lambda: ops.bits(data, 0, [-3], None, 28),
        lambda: ops.bits(data, 0, [3], [0, 4], 28),
        lambda: ops.bits(data, 0, [3], [0], 28),
        lambda: ops.bits(data, 0, [3], None, 3),
        lambda: ops.bits(data, 0, [3], None, 2**32 + 28),
        lambda: ops.bits(data, 1, [2**33], [0, 1], 28),
        lambda: ops.normal(data, 0, [3], None, 4),
        lambda: ops.rademacher(data, 0, [3], None, 0),
        lambda: ops.uniform.tensor(data, 0, [3], None, torch.zeros(4), torch.ones(3), 6),
        lambda: ops.uniform.tensor(data, 0, [3], None, torch.zeros(3), torch.ones(1, 1, 3), 6),
        lambda: ops.uniform.tensor(data, 0, [3], None, torch.zeros(3), torch.ones(3), 7),
        lambda: ops.fold_in(KEYS.data, 0, torch.zeros(4, dtype=torch.int64)),
        lambda: ops.fold_in(data, 0, torch.zeros(4)),
        lambda: ops.permutation(data, 0, -1, 4),
        lambda: ops.permutation(data, 0, 2**31, 3),
        lambda: ops.threefry(data, KEYS.data, 20),
        lambda: ops.threefry(data, data, 33),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match=":"):
            call()
    with pytest.raises(ValueError, match="device"):
        ops.fold_in(data, 0, torch.zeros(3, dtype=torch.int64, device="meta"))


# --- samplers with parameters

EACH_PARAMETER = [(name, parameter) for name in PARAMETERS for parameter in PARAMETERS[name]]
each_parameter = pytest.mark.parametrize(("name", "parameter"), EACH_PARAMETER)
INF, NAN = math.inf, math.nan

# What each parameter must not be, and what it may be just beside that.
BAD: dict[tuple[str, str], tuple[float, ...]] = {
    ("double_sided_maxwell", "loc"): (NAN, INF),
    ("double_sided_maxwell", "scale"): (NAN, INF),
    ("truncated_normal", "lower"): (2.0, 3.0, INF, NAN),
    ("truncated_normal", "upper"): (-1.0, -1.5, -INF, NAN),
    ("gamma", "a"): (-1e-6, -1.0, NAN, INF, -INF),
    ("loggamma", "a"): (-1e-6, -1.0, NAN, INF, -INF),
    ("pareto", "b"): (0.0, -1.0, NAN, INF),
    ("rayleigh", "scale"): (-1e-6, -1.0, NAN, INF),
    ("weibull_min", "scale"): (-1e-6, NAN, INF),
    ("lognormal", "sigma"): (NAN, INF, -INF),
    ("triangular", "left"): (0.6, 3.0, NAN, -INF),
    ("triangular", "mode"): (-1.1, 2.1, NAN, INF),
    ("triangular", "right"): (0.4, -2.0, NAN, INF),
    ("geometric", "p"): (0.0, -0.1, 1.1, NAN, INF),
    ("poisson", "lam"): (-1e-6, -5.0, NAN, -INF),
    ("binomial", "n"): (-1, -1.0, NAN, INF, 2.0**53 + 2),
    ("binomial", "p"): (-0.1, 1.1, NAN, INF),
}
BAD.update({key: (0.0, -1.0, NAN, INF, -INF) for key in EACH_PARAMETER if key not in BAD})
GOOD: dict[tuple[str, str], tuple[float, ...]] = {
    ("truncated_normal", "lower"): (-INF, 1.9),
    ("truncated_normal", "upper"): (INF, -0.9),
    ("gamma", "a"): (0.0, 0, 1e-30, 1e30),
    ("loggamma", "a"): (1e-30, 1e30),
    ("rayleigh", "scale"): (0.0, 0),
    ("weibull_min", "scale"): (0.0, 0),
    ("lognormal", "sigma"): (0.0, -0.5),
    ("triangular", "left"): (0.5,),
    ("triangular", "mode"): (-1.0, 2.0, 2),
    ("triangular", "right"): (0.5,),
    ("geometric", "p"): (1.0, 1, 1e-9),
    ("poisson", "lam"): (0.0, 0, INF, 1e30),
    ("binomial", "n"): (0, 2**53, 2.0**53),
    ("binomial", "p"): (0, 1, 0.0, 1.0),
}


@pytest.mark.parametrize(("name", "parameter", "wrong"), [(*key, x) for key in BAD for x in BAD[key]], ids=str)
def test_number_outside_of_the_domain(name: str, parameter: str, wrong: float) -> None:
    draw = ELEMENTWISE[name]
    refuses(ValueError, lambda: draw(KEY, (3,), **{parameter: wrong}), parameter, repr(wrong))
    refuses(ValueError, lambda: draw(KEYS, (3,), **{parameter: wrong}, window=((1, 1),)), parameter, repr(wrong))


@pytest.mark.parametrize(("name", "parameter", "edge"), [(*key, x) for key in GOOD for x in GOOD[key]], ids=str)
def test_number_at_the_edge_of_the_domain(name: str, parameter: str, edge: float) -> None:
    drawn = ELEMENTWISE[name](KEY, (99,), **{parameter: edge})
    assert drawn.shape == (99,) and not bool(drawn.isnan().any())
    assert name not in COUNTS or bool((drawn >= 0).all())
    exact = torch.float64 if name in ("poisson", "binomial") else torch.float32
    assert torch.equal(drawn, ELEMENTWISE[name](KEY, (99,), **{parameter: torch.tensor(edge, dtype=exact)}))


def test_numbers_that_give_a_sure_result() -> None:
    for name, parameters, result in (
        ("gamma", {"a": 0}, 0),
        ("loggamma", {"a": 0}, -INF),
        ("rayleigh", {"scale": 0}, 0),
        ("weibull_min", {"scale": 0}, 0),
        ("lognormal", {"sigma": 0}, 1),
        ("geometric", {"p": 1}, 1),
        ("poisson", {"lam": 0}, 0),
        ("poisson", {"lam": INF}, 2**31 - 1),
        ("binomial", {"n": 0}, 0),
        ("binomial", {"p": 0}, 0),
        ("binomial", {"p": 1}, 40),
    ):
        assert bool((ELEMENTWISE[name](KEY, (999,), **parameters) == result).all()), (name, parameters)


@each_parameter
@pytest.mark.parametrize("wrong", ["1", [1.0], (1,), None, 1j, {}], ids=str)
def test_parameter_of_wrong_type(name: str, parameter: str, wrong: Any) -> None:
    refuses(TypeError, lambda: ELEMENTWISE[name](KEY, (3,), **{parameter: wrong}), parameter, value(wrong))


@each_parameter
@pytest.mark.parametrize("dtype", [torch.bool, torch.complex64])
def test_parameter_of_wrong_dtype(name: str, parameter: str, dtype: torch.dtype) -> None:
    wrong = torch.ones(3, dtype=dtype)
    refuses(TypeError, lambda: ELEMENTWISE[name](KEY, (3,), **{parameter: wrong}), parameter, dtype_name(dtype))


@each_parameter
@pytest.mark.parametrize("wrong", [10**400, -(10**400)], ids=["large", "small"])
def test_parameter_that_no_float_holds(name: str, parameter: str, wrong: int) -> None:
    refuses(ValueError, lambda: ELEMENTWISE[name](KEY, (3,), **{parameter: wrong}), parameter)


@pytest.mark.parametrize(("name", "parameter"), [key for key in EACH_PARAMETER if key[0] != "double_sided_maxwell"])
def test_parameter_that_does_not_broadcast(name: str, parameter: str) -> None:
    draw, number = ELEMENTWISE[name], PARAMETERS[name][parameter]
    for shape in ((4,), (5, 2, 3), (2, 1, 3), (2, 2)):
        wrong = torch.full(shape, number)
        refuses(
            ValueError,
            lambda shape=shape, wrong=wrong: draw(KEY, (2, 3), **{parameter: wrong}),
            parameter,
            size(*shape),
            size(2, 3),
        )
    refuses(ValueError, lambda: draw(KEYS, (2, 3), **{parameter: torch.full((2, 2, 3), number)}), parameter)
    for shape in ((), (1,), (3,), (2, 1), (1, 3)):
        assert draw(KEY, (2, 3), **{parameter: torch.full(shape, number)}).shape == (2, 3)
    assert draw(KEYS, (2, 3), **{parameter: torch.full((3, 1, 3), number)}).shape == (3, 2, 3)


@pytest.mark.parametrize("name", [name for name in PARAMETERS if len(PARAMETERS[name]) > 1])
def test_parameters_that_do_not_broadcast_against_each_other(name: str) -> None:
    first, second = list(PARAMETERS[name])[:2]
    wrong = {first: torch.full((4,), PARAMETERS[name][first]), second: torch.full((3,), PARAMETERS[name][second])}
    for shape in (None,) if name not in ("weibull_min", "double_sided_maxwell") else ((),):
        refuses(
            ValueError, lambda shape=shape, wrong=wrong: ELEMENTWISE[name](KEY, shape, **wrong), first, size(4), size(3)
        )


@pytest.mark.parametrize("name", [name for name in PARAMETERS if name != "double_sided_maxwell"])
def test_no_shape_is_that_of_the_parameters(name: str) -> None:
    """A draw of its own for each."""
    shape = () if name in ("weibull_min", "generalized_normal") else None
    draw, parameters = ELEMENTWISE[name], PARAMETERS[name]
    assert draw(KEY, shape).shape == ()
    if name == "generalized_normal":
        return
    first = next(iter(parameters))
    for shapes in ((1,), (2, 3), (0,), (4, 1)):
        assert draw(KEY, shape, **{first: torch.full(shapes, parameters[first])}).shape == shapes
    last = list(parameters)[-1]
    if last != first:
        both = {first: torch.full((4, 1), parameters[first]), last: torch.full((3,), parameters[last])}
        assert draw(KEY, shape, **both).shape == (4, 3)
        assert torch.equal(draw(KEY, shape, **both), draw(KEY, (4, 3)))
    assert torch.equal(draw(KEY, shape, **{first: torch.full((9,), parameters[first])}), draw(KEY, (9,)))
    assert draw(KEYS, shape, **{first: torch.full((5,), parameters[first])}).shape == (3, 5)


def test_shape_of_a_double_sided_maxwell() -> None:
    """The parameters' shape comes after the one that is asked for."""
    draw = ELEMENTWISE["double_sided_maxwell"]
    assert draw(KEY).shape == () and draw(KEY, (5,)).shape == (5,)
    assert draw(KEY, loc=torch.zeros(4)).shape == (4,)
    assert draw(KEY, (5,), loc=torch.zeros(4)).shape == (5, 4)
    assert draw(KEYS, (5,), loc=torch.zeros(2, 1), scale=torch.ones(4)).shape == (3, 5, 2, 4)


def is_refused(drawn: torch.Tensor) -> torch.Tensor:
    return drawn.isnan() if drawn.is_floating_point() else drawn == -1


@pytest.mark.parametrize("impl", ["threefry2x32", "threefry2x32_original"])
@each_parameter
def test_tensor_outside_of_the_domain(name: str, parameter: str, impl: str) -> None:
    """NaN, or -1, there and nowhere else; the other elements are not touched."""
    key, number, bad = random.key(0, impl=impl), PARAMETERS[name][parameter], BAD[name, parameter]
    dtypes: list[torch.dtype] = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
    if name in COUNTS:
        dtypes += [torch.int8, torch.int16, torch.int32, torch.int64]
    values = torch.full((40,), float(number), dtype=torch.float64)
    places = torch.arange(1, 40, 3)[: 2 * len(bad)]
    values[places] = torch.tensor(bad, dtype=torch.float64).repeat(2)
    for dtype in dtypes:
        if name == "double_sided_maxwell":
            drawn = ELEMENTWISE[name](key, **{parameter: values}, dtype=dtype)
            assert not bool(drawn[places].isfinite().any())
        else:
            drawn = ELEMENTWISE[name](key, (40,), **{parameter: values}, dtype=dtype)
            assert torch.equal(is_refused(drawn).nonzero().flatten(), places)
        fine = torch.ones(40, dtype=torch.bool)
        fine[places] = False
        whole = ELEMENTWISE[name](key, (40,), dtype=dtype, **wide_chance(name, dtype))
        assert torch.equal(drawn[fine], whole[fine])


def wide_chance(name: str, dtype: torch.dtype) -> dict[str, Any]:
    """A float64 tensor as geometric's chance takes float64 uniforms."""
    return {"p": torch.tensor(PARAMETERS[name]["p"], dtype=torch.float64)} if name == "geometric" else {}


@pytest.mark.parametrize("name", PARAMETERS)
def test_integers_as_parameters(name: str) -> None:
    """In tensors too."""
    whole = {"truncated_normal": (-1, 2), "triangular": (-1, 0, 2), "geometric": (1,), "binomial": (40, 1)}
    parameters = dict(zip(PARAMETERS[name], whole.get(name, (2, 3, 4))))
    floats = ELEMENTWISE[name](KEY, (50,), **{p: float(x) for p, x in parameters.items()})
    assert torch.equal(ELEMENTWISE[name](KEY, (50,), **parameters), floats)
    for dtype in (torch.int64, torch.int8, torch.float16):
        tensors = {p: torch.tensor(x, dtype=dtype) for p, x in parameters.items()}
        assert torch.equal(ELEMENTWISE[name](KEY, (50,), **tensors), floats)


def test_mean_is_an_older_name_of_the_probability() -> None:
    for p in (0.3, torch.tensor([0.2, 0.9])):
        for mode in ("low", "high"):
            assert torch.equal(random.bernoulli(KEY, mean=p, mode=mode), random.bernoulli(KEY, p, mode=mode))
    assert torch.equal(random.bernoulli(KEY, shape=(99,), mean=0.3), random.bernoulli(KEY, 0.3, (99,)))
    refuses(TypeError, lambda: random.bernoulli(KEY, 0.3, (3,), mean=0.3), "mean", "0.3")
    refuses(TypeError, lambda: random.bernoulli(KEY, torch.ones(3), mean=0.3), "mean", "0.3")
    with pytest.raises(ValueError, match=r"1\.5.*|.*\[0, 1\]"):
        random.bernoulli(KEY, mean=1.5)


ELEMENT_KEYS = ("gamma", "loggamma", "beta", "chisquare", "f", "t", "generalized_normal")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("name", ELEMENT_KEYS)
def test_where_the_original_layout_ends_for_a_key_an_element(name: str, dtype: torch.dtype) -> None:
    """Two words an element, whatever its type."""
    most = 2**31 - 1
    assert ELEMENTWISE[name](ORIGINAL, (most,), dtype=dtype, window=[(most - 1, most)]).shape == (1,)
    window = [(most, most + 1)]
    refuses(
        ValueError,
        lambda: ELEMENTWISE[name](ORIGINAL, (most + 1,), dtype=dtype, window=window),
        "shape",
        "use threefry2x32",
    )


# --- rows and matrices


@pytest.mark.parametrize("name", [*ROWS, *MATRICES])
def test_shapes_and_dtypes_of_rows(name: str) -> None:
    draw = {**ROWS, **MATRICES}[name]
    refuses(ValueError, lambda: draw(KEY, (3, -2)), "shape", "-2")
    refuses(TypeError, lambda: draw(KEY, (3.0,)), "shape", "3.0")
    refuses(ValueError, lambda: draw(KEY, (2**62, 2)), "shape", str(2**62))
    refuses(TypeError, lambda: draw(KEY, (3,), dtype=torch.complex64), "dtype", "complex64")
    refuses(TypeError, lambda: draw(KEY, (3,), dtype="float32"), "dtype")
    if name == "multinomial":
        refuses(TypeError, lambda: draw(KEY, (3,), dtype=torch.uint8), "dtype", "uint8")
    else:
        refuses(TypeError, lambda: draw(KEY, (3,), dtype=torch.int32), "dtype", "int32")
    event = draw(KEY).shape
    for impl in ("threefry2x32", "threefry2x32_original"):
        for shape in ((0,), (4, 0, 3), (2, 3)):
            drawn = draw(random.key(0, impl=impl), shape)
            assert drawn.shape == (*shape, *event) and drawn.dtype == torch.float32
    assert draw(random.split(KEY, 0), (5,)).shape == (0, 5, *event)
    assert draw(KEYS, (5,)).shape == (3, 5, *event)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("window", [((0, 5), (0, 3)), ((0, 4),), ((0, 4), (0, 3), (0, 3)), ((-1, 4), (0, 3))], ids=str)
def test_window_outside_of_the_rows(name: str, window: Any) -> None:
    refuses(ValueError, lambda: ROWS[name](KEY, (4, 3), window=window), "window", str(window[0]), size(4, 3))


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("window", [3, "ab", (0, 4), ((0, 4), (0, 1.5))], ids=str)
def test_window_of_rows_that_is_no_sequence_of_pairs(name: str, window: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="window must"):
        ROWS[name](KEY, (4, 3), window=window)


@pytest.mark.parametrize("name", ROWS)
def test_windows_of_rows(name: str, impl: str) -> None:
    keys = random.split(random.key(0, impl=impl), 2)
    whole = ROWS[name](keys, (40, 3))
    assert torch.equal(ROWS[name](keys, (40, 3), window=((7, 20), (1, 3))), whole[:, 7:20, 1:])
    assert ROWS[name](keys, (40, 3), window=((40, 40), (1, 3))).shape == (2, 0, 2, 3)


def test_wrong_concentrations() -> None:
    for wrong in (1.0, [1.0, 2.0], None):
        refuses(TypeError, lambda wrong=wrong: random.dirichlet(KEY, wrong), "alpha", value(wrong))
    refuses(TypeError, lambda: random.dirichlet(KEY, torch.ones(3, dtype=torch.bool)), "alpha", "bool")
    refuses(ValueError, lambda: random.dirichlet(KEY, torch.tensor(1.0)), "alpha", "()")
    refuses(ValueError, lambda: random.dirichlet(KEY, torch.ones(4, 3), (5,)), "alpha", size(4, 3))
    refuses(ValueError, lambda: random.dirichlet(KEY, torch.ones(4, 3), ()), "alpha", size(4, 3))
    assert random.dirichlet(KEY, torch.ones(1, 3), (5,)).shape == (5, 3)
    assert random.dirichlet(KEY, torch.ones(4, 1)).tolist() == [[1.0]] * 4
    assert random.dirichlet(KEY, torch.ones(4, 0)).shape == (4, 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_rows_outside_of_the_domain_are_nan(dtype: torch.dtype) -> None:
    alpha = torch.tensor([[1.0, 2.0], [-1.0, 2.0], [1.0, NAN], [3.0, 1.0], [INF, 1.0]])
    rows = random.dirichlet(KEY, alpha, (9, 5), dtype)
    assert rows.isnan().all(-1).all(0).tolist() == [False, True, True, False, True]
    assert not bool(rows[:, [0, 3]].isnan().any())
    sure = random.dirichlet(KEY, torch.tensor([0.0, 2.0, 0.0]), (9,), dtype)
    assert bool((sure == torch.tensor([0, 1, 0], dtype=dtype)).all())


def test_wrong_balls() -> None:
    for d in (0, -1):
        refuses(ValueError, lambda d=d: random.ball(KEY, d), "d", str(d))
    for d in (2.0, "2", None):
        refuses(TypeError, lambda d=d: random.ball(KEY, d), "d", value(d))
    for p in (0, -1.0, NAN, INF):
        refuses(ValueError, lambda p=p: random.ball(KEY, 2, p), "p", repr(p))
    for p in ("2", None, [2.0]):
        refuses(TypeError, lambda p=p: random.ball(KEY, 2, p), "p", value(p))
    assert random.ball(KEY, 1).shape == (1,)


def test_wrong_multinomials() -> None:
    p = torch.tensor([0.2, 0.3, 0.5])
    for wrong in (0.5, [0.5, 0.5], None):
        refuses(TypeError, lambda wrong=wrong: random.multinomial(KEY, 5, wrong), "p", value(wrong))
    refuses(TypeError, lambda: random.multinomial(KEY, 5, p > 0), "p", "bool")
    refuses(ValueError, lambda: random.multinomial(KEY, 5, torch.tensor(0.5)), "p", "()")
    for n in (-1, NAN, INF, 2**53 + 2):
        refuses(ValueError, lambda n=n: random.multinomial(KEY, n, p), "n", repr(n))
    for n in ("5", None, [5]):
        refuses(TypeError, lambda n=n: random.multinomial(KEY, n, p), "n", value(n))
    refuses(ValueError, lambda: random.multinomial(KEY, 5, p, shape=(4,)), "shape", size(4), "3")
    refuses(ValueError, lambda: random.multinomial(KEY, 5, p, shape=()), "shape", "()")
    refuses(ValueError, lambda: random.multinomial(KEY, torch.ones(4), p, shape=(5, 3)), "n", size(4))
    refuses(ValueError, lambda: random.multinomial(KEY, 5, p.expand(4, 3), shape=(5, 3)), "p", size(4, 3))
    assert random.multinomial(KEY, 0, p).tolist() == [0, 0, 0]
    assert random.multinomial(KEY, torch.tensor([3, 4]), p).sum(-1).tolist() == [3, 4]
    assert random.multinomial(KEY, 5, torch.ones(2, 1)).tolist() == [[5], [5]]


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64])
def test_multinomial_rows_outside_of_the_domain(dtype: torch.dtype) -> None:
    p = torch.tensor([[0.5, 0.5], [-0.1, 1.0], [NAN, 1.0], [INF, 1.0], [0.0, 0.0], [1.0, 3.0]])
    rows = random.multinomial(KEY, 20, p, shape=(9, 6, 2), dtype=dtype)
    assert is_refused(rows).all(-1).all(0).tolist() == [False, True, True, True, True, False]
    assert bool((rows[:, [0, 5]].sum(-1) == 20).all())
    n = torch.tensor([20.0, -1.0, NAN, INF, 0.0])
    rows = random.multinomial(KEY, n, p[0], shape=(9, 5, 2), dtype=dtype)
    assert is_refused(rows).all(-1).all(0).tolist() == [False, True, True, True, False]
    assert bool((rows[:, 0].sum(-1) == 20).all()) and bool((rows[:, 4] == 0).all())


def test_wrong_means_and_covariances() -> None:
    mean, cov = torch.zeros(2), torch.eye(2)
    draw = random.multivariate_normal
    for wrong in (0.0, [0.0, 0.0], None):
        refuses(TypeError, lambda wrong=wrong: draw(KEY, wrong, cov), "mean", value(wrong))
        refuses(TypeError, lambda wrong=wrong: draw(KEY, mean, wrong), "cov", value(wrong))
    refuses(TypeError, lambda: draw(KEY, mean > 0, cov), "mean", "bool")
    refuses(TypeError, lambda: draw(KEY, mean, cov.to(torch.complex64)), "cov", "complex64")
    refuses(ValueError, lambda: draw(KEY, torch.tensor(0.0), cov), "mean", "()")
    refuses(ValueError, lambda: draw(KEY, mean, torch.zeros(2)), "cov", size(2))
    refuses(ValueError, lambda: draw(KEY, mean, torch.eye(3)), "cov", size(3, 3))
    refuses(ValueError, lambda: draw(KEY, mean, torch.ones(2, 3)), "cov", size(2, 3))
    refuses(ValueError, lambda: draw(KEY, torch.zeros(4, 2), cov, (3,)), "mean", size(4))
    refuses(ValueError, lambda: draw(KEY, mean, cov.expand(4, 2, 2), (3,)), "cov", size(4))
    refuses(ValueError, lambda: draw(KEY, torch.zeros(3, 2), cov.expand(4, 2, 2)), "mean", size(3), size(4))
    refuses(ValueError, lambda: draw(KEY, mean, cov, method="qr"), "method", "'qr'", "cholesky")
    for method in ("cholesky", None):
        wrong = {} if method is None else {"method": method}
        with pytest.raises(ValueError, match=r"\bcov\b.*positive.definite"):
            draw(KEY, mean, torch.tensor([[1.0, 2.0], [2.0, 1.0]]), (3,), **wrong)
    for method in ("cholesky", "svd", "eigh"):
        assert draw(KEY, mean, cov, (3,), method=method).shape == (3, 2)
        assert draw(KEY, torch.zeros(0), torch.zeros(0, 0), (3,), method=method).shape == (3, 0)
    assert draw(KEY, mean, cov.double()).dtype == torch.float64
    assert draw(KEY, mean.half(), cov.half()).dtype == torch.float16
    assert draw(KEY, torch.zeros(2, dtype=torch.int32), torch.eye(2, dtype=torch.int32)).dtype == torch.float32


def test_wrong_orthogonals() -> None:
    for n in (-1, -(2**40)):
        refuses(ValueError, lambda n=n: random.orthogonal(KEY, n), "n", str(n))
        refuses(ValueError, lambda n=n: random.orthogonal(KEY, 3, m=n), "m", str(n))
    for n in (2.0, "2", [2]):
        refuses(TypeError, lambda n=n: random.orthogonal(KEY, n), "n", value(n))
        refuses(TypeError, lambda n=n: random.orthogonal(KEY, 3, m=n), "m", value(n))
    refuses(TypeError, lambda: random.orthogonal(KEY, None), "n", "NoneType")
    assert random.orthogonal(KEY, 0).shape == (0, 0)
    assert random.orthogonal(KEY, 0, (2,), m=3).shape == (2, 0, 3)
    assert random.orthogonal(KEY, 3, (2,), m=0).shape == (2, 3, 0)
    assert random.orthogonal(KEY, 1).abs().tolist() == [[1.0]]


# --- TVM's generator


GEN = tvm.key(0)
TVM: dict[str, Callable[..., Any]] = {
    "generate": lambda gen, shape=(4,), **kw: tvm.generate(gen, shape, **kw),
    "split": tvm.split,
    "uniform": lambda gen, shape=(4,), **kw: tvm.uniform(gen, shape, **kw),
}
each_tvm = pytest.mark.parametrize("name", TVM)
each_tvm_draw = pytest.mark.parametrize("name", ["generate", "uniform"])


@pytest.mark.parametrize("seed", [1.0, True, None, "1", torch.tensor(1)])
def test_seed_of_tvm_of_wrong_type(seed: Any) -> None:
    refuses(TypeError, lambda: tvm.key(seed), "seed", (*value(seed), "int64"))


@pytest.mark.parametrize("seed", [-1, 2**256])
def test_seed_of_tvm_out_of_range(seed: int) -> None:
    refuses(OverflowError, lambda: tvm.key(seed), "seed", str(seed), "2^256")


def test_seed_of_tvm_at_the_ends_of_its_range() -> None:
    assert tvm.key(0).tolist()[:4] == [0, 0, 0, 0]
    assert tvm.key(2**256 - 1).tolist()[:4] == [2**64 - 1] * 4


@each_tvm
@pytest.mark.parametrize("gen", [None, 0, [0] * 10, KEY], ids=["None", "int", "list", "Key"])
def test_something_else_than_states(name: str, gen: Any) -> None:
    refuses(TypeError, lambda: TVM[name](gen), "gen", value(gen), "uint64")


@each_tvm
@pytest.mark.parametrize("dtype", [torch.int64, torch.uint32, torch.float64])
def test_states_of_wrong_dtype(name: str, dtype: torch.dtype) -> None:
    refuses(TypeError, lambda: TVM[name](torch.zeros(10, dtype=dtype)), "gen", dtype_name(dtype), "uint64")


@each_tvm
@pytest.mark.parametrize("shape", [(9,), (11,), (), (0,), (10, 1), (2, 9)])
def test_states_of_wrong_shape(name: str, shape: tuple[int, ...]) -> None:
    gen = torch.zeros(shape, dtype=torch.int64).view(torch.uint64)
    refuses(ValueError, lambda: TVM[name](gen), "gen", size(*shape), "10 words")


@each_tvm_draw
def test_shapes_of_draws_from_states(name: str) -> None:
    refuses(ValueError, lambda: TVM[name](GEN, (2, -1)), "shape", size(2, -1))
    refuses(ValueError, lambda: TVM[name](GEN, (2**32, 2**32)), "shape", str(2**32))
    for shape in (4, 4.0, None, "4"):
        refuses(TypeError, lambda shape=shape: TVM[name](GEN, shape), "shape", value(shape))
    refuses(TypeError, lambda: TVM[name](GEN, (2.0,)), "shape", "2.0")
    assert TVM[name](GEN, [2, 3])[1].shape == (2, 3)
    assert TVM[name](GEN, ())[1].shape == ()


@each_tvm_draw
@pytest.mark.parametrize("rule", ["seed", "", None, 1])
def test_unknown_rule(name: str, rule: Any) -> None:
    refuses(ValueError, lambda: TVM[name](GEN, rule=rule), "rule", repr(rule), "'first', 'release'")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int32, "float32", float])
@pytest.mark.parametrize("rule", ["first", "release"])
def test_dtypes_that_tvm_has_not(dtype: Any, rule: str) -> None:
    refuses(TypeError, lambda: tvm.uniform(GEN, (4,), dtype=dtype, rule=rule), "dtype", repr(dtype), "float64")


def test_dtypes_of_the_first_version() -> None:
    wrong = lambda: tvm.uniform(GEN, (4,), dtype=torch.float32, rule="first")
    refuses(TypeError, wrong, "dtype", "float32", "rule='first'", "float64")
    assert tvm.uniform(GEN, (4,), dtype=torch.float64, rule="first")[1].dtype == torch.float64


@pytest.mark.parametrize("name", ["low", "high"])
def test_bounds_of_tvm(name: str) -> None:
    for wrong in ("1", None, [1.0], torch.tensor(1.0)):
        refuses(
            TypeError, lambda wrong=wrong: tvm.uniform(GEN, (4,), **{name: wrong}), name, (*value(wrong), "float32")
        )
    for wrong in (NAN, INF, -INF, 1e39):
        refuses(ValueError, lambda wrong=wrong: tvm.uniform(GEN, (4,), **{name: wrong}), name, repr(wrong), "float32")
    assert tvm.uniform(GEN, (4,), **{name: 1e38})[1].isfinite().all()


def test_bounds_of_tvm_too_far_apart() -> None:
    refuses(ValueError, lambda: tvm.uniform(GEN, (4,), -3e38, 3e38), "high - low", "6e+38", "float32")
    wrong = lambda: tvm.uniform(GEN, (4,), -0.3e308, 0.3e308, rule="first")
    refuses(ValueError, wrong, "high - low", "6e+307", "float64")
    assert tvm.uniform(GEN, (4,), -0.3e308, 0.3e308, torch.float64)[1].isfinite().all()


def test_direct_calls_with_wrong_states() -> None:
    for gen in (torch.zeros(9, dtype=torch.int64).view(torch.uint64), torch.zeros(10, dtype=torch.int64)):
        for call in (
            lambda gen=gen: _ops.tvm_generate(gen, (4,), True),
            lambda gen=gen: _ops.tvm_uniform(gen, (4,), 0.0, 1.0, True, _ops.DTYPE_CODES[torch.float32]),
            lambda gen=gen: _ops.tvm_split(gen),
        ):
            refuses(RuntimeError, call, "gen")
    for dtype, release in ((torch.float32, False), (torch.float16, True)):
        code = _ops.DTYPE_CODES[dtype]
        refuses(RuntimeError, lambda r=release, c=code: _ops.tvm_uniform(GEN, (4,), 0.0, 1.0, r, c), "dtype")
    refuses(RuntimeError, lambda: _ops.tvm_generate(GEN, (-4,), True), "size")
