"""torch's transforms: operator checks, vmap, gradients, torch.compile, torch.export, AOTInductor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch._dynamo.testing
import torch.utils.checkpoint
from samplers import ALL, COUNTS, FEW, PARAMETRIC, Draw
from torch import Tensor, nn

from torch_threefry import Key, _ops, random, tvm

UINT32 = _ops.DTYPE_CODES[torch.uint32]
FLOAT32 = _ops.DTYPE_CODES[torch.float32]
FLOAT64 = _ops.DTYPE_CODES[torch.float64]
INT64 = _ops.DTYPE_CODES[torch.int64]


def _operator_calls() -> list[Any]:
    key = random.key(1).data
    keys = random.key(1).split(3).data
    low, high = torch.zeros(4), torch.ones(3, 1, 1)
    counter = torch.arange(8, dtype=torch.int32).view(torch.uint32).view(2, 4)
    calls: list[tuple[Any, tuple[Any, ...]]] = [
        (_ops.threefry, (counter, counter, 20)),
        (_ops.split, (keys, 0, (2, 3))),
        (_ops.fold_in, (keys, 0, torch.arange(3))),
        (_ops.fold_in_int, (keys, 1, 7)),
        (_ops.bits, (keys, 0, (5, 4), None, UINT32)),
        (_ops.uniform, (keys, 0, (5, 4), (1, 3, 0, 4), 0.0, 1.0, FLOAT32)),
        (_ops.uniform_tensor, (keys, 0, (5, 4), None, low, high, FLOAT32)),
        (_ops.randint, (keys, 0, (5, 4), None, 0, 10, INT64)),
        (_ops.randint_tensor, (keys, 0, (5, 4), None, low.long(), high.long(), INT64)),
        (_ops.gumbel, (keys, 0, (5, 4), None, True, FLOAT64)),
        (_ops.bernoulli, (keys, 0, (5, 4), None, 0.5, False)),
        (_ops.bernoulli_tensor, (keys, 0, (5, 4), None, low, True)),
        (_ops.rademacher, (keys, 0, (5, 4), None, INT64)),
        (_ops.permutation, (keys, 0, 10, INT64)),
        (_ops.geometric, (keys, 0, (5, 4), None, low + 0.5, INT64)),
        (_ops.poisson, (keys, 0, (5, 4), None, 30 * low.double() + 5, FLOAT32)),
        (_ops.binomial, (keys, 0, (5, 4), (1, 3, 0, 4), 30 * high.double(), 0.5 + low.double(), INT64)),
        (_ops.multinomial, (keys, 0, (5,), None, 9 * low.double()[0], torch.ones(2).double(), INT64)),
        (_ops.softmax, (torch.ones(3, 4),)),
        (_ops.shares, (torch.ones(3, 4),)),
        (_ops.ball, (torch.ones(3, 4), torch.ones(3, 4, dtype=torch.int32), torch.ones(3), torch.ones(3))),
        (_ops.loggamma_slope, (torch.ones(3, 4), torch.zeros(3, 4))),
    ]
    gens = torch.stack([tvm.key(1), tvm.key(2)])
    calls += [
        (_ops.tvm_generate, (gens, (5, 3), False)),
        (_ops.tvm_uniform, (gens, (5, 3), -1.0, 2.0, True, FLOAT32)),
        (_ops.tvm_split, (gens,)),
    ]
    for name, arguments in PARAMETRIC.items():
        parameters = [torch.full((4,), value) for value in arguments]
        calls.append((getattr(_ops, name), (keys, 0, (5, 4), None, *parameters, FLOAT32)))
    standard = (_ops.normal, _ops.exponential, _ops.laplace, _ops.logistic, _ops.cauchy, _ops.maxwell)
    calls += [(op, (key, 1, (5, 4), None, FLOAT32)) for op in standard]
    # Once more with keys of another form.
    paths = random.key(1, impl="threefry4x64").split(3).data
    calls += [(op, (paths, 2, *args[2:])) for op, args in calls if args[0] is keys or args[0] is key]
    return [pytest.param(op, args, id=op.name().split("::")[1] + "-4x64" * (args[0] is paths)) for op, args in calls]


@pytest.mark.parametrize(("op", "args"), _operator_calls())
def test_opcheck(op: Any, args: tuple[Any, ...]) -> None:
    torch.library.opcheck(op, args)


def test_every_operator_is_checked() -> None:
    checked = {p.values[0].name() for p in _operator_calls()}
    registered = {
        str(s.name) + (f".{s.overload_name}" if s.overload_name else "")
        for s in torch._C._jit_get_all_schemas()
        if s.name.startswith("torch_threefry::")
    }
    assert registered == checked


# ---- vmap ----


@pytest.mark.parametrize("draw", ALL)
def test_vmap_over_keys_is_a_batch(draw: Draw, impl: str) -> None:
    keys = random.key(2, impl=impl).split((4, 3))
    assert torch.equal(torch.vmap(lambda k: draw(k, (5,)))(keys), draw(keys, (5,)))
    nested = torch.vmap(torch.vmap(lambda k: draw(k, (5,))), in_dims=1, out_dims=1)(keys)
    assert torch.equal(nested, draw(keys, (5,)))
    window = torch.vmap(lambda k: draw(k, (5,), window=((1, 4),)))(keys)
    assert torch.equal(window, draw(keys, (5,))[..., 1:4])


def test_vmap_over_keys_and_parameters(impl: str) -> None:
    key = random.key(3, impl=impl)
    keys, high = key.split(4), torch.arange(1.0, 5.0)
    expected = torch.stack([random.uniform(keys[i], (6,), maxval=high[i]) for i in range(4)])
    assert torch.equal(torch.vmap(lambda k, h: random.uniform(k, (6,), maxval=h))(keys, high), expected)
    same_key = torch.vmap(lambda h: random.uniform(key, (6,), maxval=h))(high)
    assert torch.equal(same_key, torch.stack([random.uniform(key, (6,), maxval=h) for h in high]))
    p = torch.rand(5, 4, generator=torch.Generator().manual_seed(0))
    drawn = torch.vmap(lambda k, q: random.bernoulli(k, q, (3, 5)), in_dims=(0, 1))(keys, p)
    assert torch.equal(drawn, torch.stack([random.bernoulli(keys[i], p[:, i], (3, 5)) for i in range(4)]))
    top = torch.tensor([5, 50, 500, 5000])
    integers = torch.vmap(lambda k, t: random.randint(k, (8,), 0, t))(keys, top)
    assert torch.equal(integers, torch.stack([random.randint(keys[i], (8,), 0, int(top[i])) for i in range(4)]))


@pytest.mark.parametrize("name", [*PARAMETRIC, *COUNTS, "poisson-large", "binomial-large"])
def test_vmap_over_keys_and_parameters_is_a_loop(name: str, impl: str) -> None:
    name, _, large = name.partition("-")
    draw, arguments = getattr(random, name), {**PARAMETRIC, **COUNTS}[name]
    keys = random.key(31, impl=impl).split(3)
    factors = torch.tensor([1.0, 1.5, 0.5] if not large else [10.0, 15.0, 8.0])
    first, rest = arguments[0] * factors, arguments[1:]
    mapped = torch.vmap(lambda k, a: draw(k, a, *rest, shape=(2, 5)))(keys, first)
    assert torch.equal(mapped, torch.stack([draw(keys[i], first[i], *rest, shape=(2, 5)) for i in range(3)]))
    one_key = torch.vmap(lambda a: draw(keys[0], a, *rest, shape=(5,)), in_dims=0, out_dims=1)(first)
    assert torch.equal(one_key, torch.stack([draw(keys[0], a, *rest, shape=(5,)) for a in first], 1))


def test_vmap_over_rows(impl: str) -> None:
    keys = random.key(32, impl=impl).split(3)
    weights = torch.tensor([[0.2, 0.3, 0.5], [1.0, 0.0, 3.0], [5.0, 5.0, 0.1]])
    trials = torch.tensor([5, 50, 500])
    functions = (
        lambda k, w, n: random.dirichlet(k, w + 0.1, (4,)),
        lambda k, w, n: random.multinomial(k, n, w, shape=(4, 3)),
        lambda k, w, n: random.ball(k, 3, w.sum(), (4,)),
        lambda k, w, n: random.multivariate_normal(k, w, torch.eye(3) * n, (4,), method="eigh"),
        lambda k, w, n: random.orthogonal(k, 3, (2,)),
    )
    for f in functions:
        mapped = torch.vmap(f)(keys, weights, trials)
        loop = torch.stack([f(keys[i], weights[i], trials[i]) for i in range(3)])
        torch.testing.assert_close(mapped, loop, rtol=0, atol=1e-5 if f in functions[3:] else 0)


def test_vmap_over_splits_folds_and_orders(impl: str) -> None:
    keys = random.key(4, impl=impl).split((4, 3))

    def row(k: Key, number: Tensor) -> tuple[Any, ...]:
        first, second = k.split()[..., 0], k.split()[..., 1]
        return (
            first,
            second.fold_in(7),
            k.fold_in(number),
            k.randperm(9),
            random.permutation(k, torch.arange(6).view(2, 3), 1),
        )

    numbers = torch.arange(4)
    mapped = torch.vmap(row)(keys, numbers)
    for i in range(4):
        for whole, part in zip(mapped, row(keys[i], numbers[i])):
            same = whole[i].equal(part) if isinstance(part, Key) else torch.equal(whole[i], part)
            assert same
    folded = torch.vmap(lambda n: random.key(0, impl=impl).fold_in(n))(numbers)
    assert folded.equal(random.key(0, impl=impl).fold_in(numbers))


def test_vmap_over_selections(impl: str) -> None:
    keys = random.key(5, impl=impl).split(4)
    logits = torch.randn(4, 7, generator=torch.Generator().manual_seed(0))
    functions = (
        lambda k, x: random.categorical(k, x, shape=(3,)),
        lambda k, x: random.categorical(k, x, shape=(3,), replace=False),
        lambda k, x: random.choice(k, 10, (3,)),
        lambda k, x: random.choice(k, x, (3,), replace=False),
        lambda k, x: random.shuffle(k, x),
    )
    for f in functions:
        assert torch.equal(torch.vmap(f)(keys, logits), torch.stack([f(keys[i], logits[i]) for i in range(4)]))


def test_vmap_of_the_bare_cipher() -> None:
    from torch_threefry import threefry

    counters = random.bits(random.key(6), (5, 3, 2))
    key = random.bits(random.key(7), (2,))
    assert torch.equal(torch.vmap(lambda c: threefry(c, key))(counters), threefry(counters, key))
    assert torch.equal(torch.vmap(lambda c: threefry(c, key), in_dims=1, out_dims=1)(counters), threefry(counters, key))


def test_vmap_over_states_of_tvm() -> None:
    gens = torch.stack([tvm.key(i) for i in range(12)]).view(3, 4, 10)

    def f(gen: Tensor) -> tuple[Tensor, ...]:
        left, right = tvm.split(gen)
        return (*tvm.generate(left, (5,)), *tvm.uniform(right, (2, 3), -1, 2, torch.float64))

    for a, b in zip(torch.vmap(torch.vmap(f), in_dims=1, out_dims=1)(gens), f(gens), strict=True):
        assert torch.equal(a, b)


# ---- Gradients ----


def test_gradients_in_the_bounds(impl: str) -> None:
    key = random.key(8, impl=impl)
    low = torch.tensor([[0.0], [-1.0]], dtype=torch.float64, requires_grad=True)
    high = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)

    def draw(a: Tensor, b: Tensor) -> Tensor:
        return random.uniform(key, (2, 3), torch.float64, a, b)

    assert torch.autograd.gradcheck(draw, (low, high), check_forward_ad=True)
    assert torch.autograd.gradcheck(
        lambda a, b: random.uniform(key, (2, 3), torch.float64, a, b, window=((0, 1), (1, 3))), (low, high)
    )
    u = random.uniform(key, (2, 3), torch.float64)
    gradients = torch.func.grad(lambda a, b: draw(a, b).sum(), argnums=(0, 1))(low, high)
    torch.testing.assert_close(gradients[0], (1 - u).sum(1, keepdim=True))
    torch.testing.assert_close(gradients[1], u.sum(0))
    _, tangent = torch.func.jvp(draw, (low, high), (torch.ones_like(low), torch.zeros_like(high)))
    torch.testing.assert_close(tangent, 1 - u)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_slopes_are_those_of_the_draw(dtype: torch.dtype, impl: str) -> None:
    key = random.key(9, impl=impl)
    low, high = torch.zeros((), dtype=dtype), torch.ones(6, dtype=dtype, requires_grad=True)
    x = random.uniform(key, (6,), dtype, low, high)
    (slope,) = torch.autograd.grad(x.sum(), high)
    assert torch.equal(slope, x.detach())  # from 0 to 1 the draw is u, and so is its slope
    _, tangent = torch.func.jvp(lambda h: random.uniform(key, (6,), dtype, low, h), (high.detach(),), (high.detach(),))
    assert tangent.dtype == dtype and torch.equal(tangent, x.detach())


def test_gradients_under_checkpointing() -> None:
    def loss(high: Tensor) -> Tensor:
        return random.uniform(random.key(9), (4,), maxval=high).square().sum()

    high = torch.ones(4, requires_grad=True)
    (expected,) = torch.autograd.grad(loss(high), high)
    for reentrant in (True, False):
        high.grad = None
        torch.utils.checkpoint.checkpoint(loss, high, use_reentrant=reentrant).backward()
        assert torch.equal(high.grad, expected)


def test_gradients_under_vmap(impl: str) -> None:
    keys = random.key(9, impl=impl).split(4)
    scale = torch.tensor([1.0, 2.0, 3.0, 4.0])

    def loss(k: Key, s: Tensor) -> Tensor:
        return random.uniform(k, (5,), maxval=s).square().sum()

    mapped = torch.vmap(torch.func.grad(loss, argnums=1))(keys, scale)
    for i in range(4):
        torch.testing.assert_close(mapped[i], torch.func.grad(loss, argnums=1)(keys[i], scale[i]))


def test_an_empty_range_has_the_gradient_of_its_lower_bound() -> None:
    low = torch.tensor(2.0, requires_grad=True)
    high = torch.tensor(1.0, requires_grad=True)
    random.uniform(random.key(0), (3,), minval=low, maxval=high).sum().backward()
    assert low.grad == 3 and high.grad == 0


def test_location_and_scale(impl: str) -> None:
    key = random.key(10, impl=impl)
    loc, scale = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    noise = random.normal(key, (100,))
    (loc + scale * random.normal(key, (100,))).sum().backward()
    assert loc.grad == 100
    torch.testing.assert_close(scale.grad, noise.sum())


# ---- torch.compile ----


def compiled(f: Any, **kw: Any) -> Any:
    torch._dynamo.reset()
    return torch.compile(f, fullgraph=True, **kw)


@pytest.mark.parametrize("impl", ["threefry2x32", "threefry4x64"])  # both forms of keys
@pytest.mark.parametrize("draw", FEW)
def test_compiled_draws_are_eager_draws(draw: Draw, impl: str) -> None:
    def f(key: Key, x: Tensor) -> tuple[Tensor, Key]:
        first, second = key.split()
        return x + draw(first, x.shape).to(x.dtype), second

    key, x = random.key(11, impl=impl), torch.zeros(5, 7, dtype=torch.float64)
    value, left = compiled(f)(key, x)
    expected, expected_left = f(key, x)
    assert torch.equal(value, expected) and left.equal(expected_left)


def test_keys_in_containers_go_in_and_out() -> None:
    def f(keys: dict[str, list[Key]]) -> dict[str, Any]:
        a, b = keys["list"]
        return {"same": b, "new": [a.fold_in(1), random.key(3)], "draw": b.randn(4), "order": random.permutation(a, 10)}

    keys = {"list": list(random.key(12).split())}
    out, expected = compiled(f)(keys), f(keys)
    assert out["same"].equal(expected["same"])
    assert all(a.equal(b) for a, b in zip(out["new"], expected["new"]))
    assert torch.equal(out["draw"], expected["draw"]) and torch.equal(out["order"], expected["order"])


@pytest.mark.parametrize("make", [lambda s: random.key(s, impl="threefry4x64").data, tvm.key], ids=["key", "tvm.key"])
def test_seeds_that_change_compile(make: Any) -> None:
    def f(seed: int, x: Tensor) -> Tensor:
        return make(seed).view(torch.int64) + x

    run, x = compiled(f, backend="aot_eager"), torch.zeros(10, dtype=torch.int64)
    for seed in (3, 4, 5, 2**62):
        assert torch.equal(run(seed, x), f(seed, x))


def test_selections_compile() -> None:
    def f(key: Key, logits: Tensor) -> tuple[Tensor, ...]:
        return (
            random.categorical(key, logits),
            random.categorical(key, logits, shape=(2, 4), replace=False),
            random.choice(key, logits, (3,)),
            random.choice(key, 10, (4,), replace=False),
            random.randint(key, (5,), 0, torch.tensor(9)),
            random.shuffle(key, logits, 1),
        )

    logits = torch.randn(4, 6, generator=torch.Generator().manual_seed(0))
    for a, b in zip(compiled(f)(random.key(13), logits), f(random.key(13), logits)):
        assert torch.equal(a, b)


def test_rows_and_counts_compile() -> None:
    def f(key: Key, w: Tensor) -> tuple[Tensor, ...]:
        return (
            random.dirichlet(key, w, (3,)),
            random.multinomial(key, 30, w, dtype=torch.int32),
            random.ball(key, 3, 2.5, (2,), window=((1, 2),)),
            random.poisson(key, w * 20),
            random.binomial(key, 50, w / w.sum()),
            random.geometric(key, w / w.sum()),
            random.multivariate_normal(key, w, torch.diag(w), (2,)),
            random.orthogonal(key, 3),
        )

    weights = torch.tensor([0.2, 0.3, 1.5])
    for a, b in zip(compiled(f)(random.key(13), weights), f(random.key(13), weights)):
        assert torch.equal(a, b)


def test_tvm_compiles() -> None:
    def f(gen: Tensor, x: Tensor) -> tuple[Tensor, ...]:
        left, right = tvm.split(gen)
        left, u = tvm.uniform(left, x.shape, -1, 2)
        right, v = tvm.uniform(right, x.shape, rule="first")
        return left, right, x * u + v, *tvm.generate(tvm.key(2**200), (x.shape[0],), "release")

    run = compiled(f, dynamic=True)
    for n in (5, 6, 100):
        for a, b in zip(run(tvm.key(n), torch.ones(n, 3)), f(tvm.key(n), torch.ones(n, 3)), strict=True):
            assert torch.equal(a, b)


def test_integers_as_parameters_compile() -> None:
    def f(key: Key, n: int) -> tuple[Tensor, ...]:
        return random.binomial(key, n, 0.3, (5,)), random.gamma(key, n, (5,)), random.triangular(key, 0, 1, n, (5,))

    run = compiled(f)
    for n in (10, 20, 33):
        for a, b in zip(run(random.key(14), n), f(random.key(14), n)):
            assert torch.equal(a, b)


def _count_compilations(f: Any, calls: list[tuple[Any, ...]], **kw: Any) -> int:
    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounter()
    run = torch.compile(f, fullgraph=True, backend=counter, **kw)
    for args in calls:
        out, expected = run(*args), f(*args)
        assert torch.equal(out, expected)
    frames: int = counter.frame_count
    return frames


def test_dynamic_shapes_compile_once() -> None:
    def f(key: Key, x: Tensor) -> Tensor:
        return x * random.bernoulli(key, 0.5, x.shape) + random.normal(key.fold_in(1), (x.shape[0], 3)).sum()

    calls = [(random.key(i), torch.ones(n, 4)) for i, n in enumerate((5, 6, 7, 33, 1000))]
    assert _count_compilations(f, calls, dynamic=True) == 1
    assert _count_compilations(f, calls) == 2  # the first with a fixed size, then one for all


def test_a_step_does_not_recompile() -> None:
    def f(key: Key, step: Any) -> Tensor:
        return key.fold_in(step).rand(5)

    key = random.key(14)
    assert _count_compilations(f, [(key, torch.tensor(step)) for step in range(10)]) == 1
    # torch fixes the first int it sees, and 0 and 1; all others share one graph.
    assert _count_compilations(f, [(key, step) for step in range(2, 30)]) <= 2
    assert _count_compilations(f, [(key, step) for step in range(30)]) <= 3


def test_compiled_gradients() -> None:
    def f(key: Key, low: Tensor, high: Tensor) -> Tensor:
        return random.uniform(key, (5, 3), minval=low, maxval=high).square().sum()

    def gradients(run: Any) -> tuple[Tensor, ...]:
        low, high = torch.zeros(3, requires_grad=True), torch.full((5, 1), 2.0, requires_grad=True)
        return torch.autograd.grad(run(random.key(15), low, high), (low, high))

    for a, b in zip(gradients(compiled(f)), gradients(f)):
        torch.testing.assert_close(a, b)
    run = compiled(lambda key, x: torch.func.grad(lambda y: f(key, y, y + 1))(x))
    x = torch.zeros(3)
    torch.testing.assert_close(run(random.key(15), x), torch.func.grad(lambda y: f(random.key(15), y, y + 1))(x))


def test_compiled_forward_mode() -> None:
    def slope(high: Tensor) -> tuple[Tensor, Tensor]:
        return torch.func.jvp(
            lambda h: random.uniform(random.key(15), (4,), maxval=h), (high,), (torch.ones_like(high),)
        )

    high = torch.full((4,), 3.0)
    for a, b in zip(compiled(slope)(high), slope(high)):
        assert torch.equal(a, b)
    jacobian = torch.func.jacfwd(lambda h: random.uniform(random.key(15), (4,), maxval=h))
    assert torch.equal(compiled(jacobian)(high), jacobian(high))


def test_shuffling_compiles_once_for_all_sizes_of_a_kind() -> None:
    def f(key: Key, x: Tensor) -> Tensor:
        return random.shuffle(key, x)

    assert _count_compilations(f, [(random.key(1), torch.arange(n)) for n in (5, 9, 100, 1000)]) == 2


def test_compiled_vmap() -> None:
    keys = random.key(16).split(4)
    run = compiled(torch.vmap(lambda k: k.fold_in(3).randn(5)))
    assert torch.equal(run(keys), keys.fold_in(3).randn(5))


# ---- torch.export ----


class Noise(nn.Module):
    """A module that takes a key."""

    def forward(self, key: Key, x: Tensor) -> Tensor:
        noise, mask = key.split()
        return x + random.normal(noise, x.shape) * random.bernoulli(mask, 0.5, x.shape)


def test_export(tmp_path: Path, impl: str) -> None:
    key, x = random.key(17, impl=impl), torch.ones(6, 4)
    shapes = {"key": [None], "x": {0: torch.export.Dim("n", min=2)}}
    program = torch.export.export(Noise(), (key, x), dynamic_shapes=shapes)
    torch.export.save(program, tmp_path / "noise.pt2")
    module = torch.export.load(tmp_path / "noise.pt2").module()
    for n in (6, 9):
        x = torch.ones(n, 4)
        other = random.key(n, impl=impl)
        assert torch.equal(module(other, x), Noise()(other, x))


def test_an_aotinductor_package_runs(tmp_path: Path) -> None:
    key, x = random.key(18), torch.ones(6, 4)
    program = torch.export.export(Noise(), (key, x))
    path = torch._inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "noise.pt2"))
    run = torch._inductor.aoti_load_package(path)
    for seed in (18, 19):
        assert torch.equal(run(random.key(seed), x), Noise()(random.key(seed), x))
