"""Write draws of jax.random as JAX makes them by default: 64-bit types off, default dtypes.

    pip install "jax==0.10.2" numpy
    python generate.py OUT_DIR

The manifest is that of ../jax, with two additions: a case with `batch` was mapped (jax.vmap)
over split(key(seed), batch), and `threefry_2x32` is the array form of the cipher, which takes
no key. `compare` is that of ../jax too: exact, ulp, accept or close.

Left out on purpose, because JAX 0.10.2 is wrong or unstable there: what ../jax leaves out, wald with a
large mean, truncated_normal in the tails, and double_sided_maxwell and weibull_min of arrays without a shape.
"""

import argparse
import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.random import threefry_2x32

F32 = np.float32
KEY_FUNCTIONS = ("PRNGKey", "split", "fold_in")
# How close a port has to be; "exact" where it is not said.
COMPARE = {
    "cauchy": "ulp",
    "maxwell": "ulp",
    "double_sided_maxwell": "ulp",
    "truncated_normal": "ulp",
    "pareto": "ulp",
    "rayleigh": "ulp",
    "weibull_min": "ulp",
    "lognormal": "ulp",
    "triangular": "ulp",
    "gamma": "accept",
    "loggamma": "accept",
    "beta": "accept",
    "chisquare": "accept",
    "f": "accept",
    "t": "accept",
    "dirichlet": "accept",
    "wald": "accept",
    "generalized_normal": "accept",
    "ball": "accept",
    "geometric": "accept",
    "poisson": "accept",
    "multivariate_normal": "close",
    "orthogonal": "close",
}


def cases():
    """Yield (fn, kwargs, batch)."""
    yield from key_cases()
    yield from elementwise_cases()
    yield from discrete_cases()
    yield from selection_cases()
    yield from batch_cases()
    # Later ones go here: a case's number is its seed.
    yield from continuous_cases()
    yield from gamma_family_cases()
    yield from vector_cases()
    yield from count_cases()
    yield from later_batch_cases()


def key_cases():
    # Without 64-bit types JAX drops the high half of a seed, so larger seeds are in ../jax.
    for seed in (0, 1, 42, 1701, 2**31 - 1):
        yield "PRNGKey", {"seed": seed}, None
    for num in (2, 5, (3,), (2, 3), (2, 0), (1, 2, 2)):
        yield "split", {"num": num}, None
    for data in (0, 1, 7, 1000003, 2**31, 2**32 - 1):
        yield "fold_in", {"data": data}, None
    for count in (0, 1, 2, 7, 8, (3, 5), (2, 2, 3)):
        values = np.random.RandomState(7).randint(0, 2**32, count, np.uint32)
        yield (
            "threefry_2x32",
            {"keypair": np.array([0x13198A2E, 0x03707344], np.uint32), "count": values},
            None,
        )


def elementwise_cases():
    for shape in ((), (5,), (33,), (4, 7)):
        for fn in ("bits", "uniform", "normal", "exponential", "gumbel", "laplace", "logistic", "rademacher"):
            yield fn, {"shape": shape}, None
    for fn in ("bits", "uniform", "normal", "rademacher"):
        yield fn, {}, None
    yield "uniform", {"shape": (64,), "minval": -1.0, "maxval": 3.0}, None
    rows, columns = np.array([[-1.0], [0.1], [5.0]], F32), np.array([5.5, 6, 7, 800], F32)
    yield "uniform", {"shape": (3, 4), "minval": rows, "maxval": columns}, None
    yield "gumbel", {"shape": (65,), "mode": "high"}, None


def discrete_cases():
    for low, high in ((0, 1), (0, 10), (-5, 17), (0, 65536), (-(2**31), 0), (7, 7), (9, 2)):
        yield "randint", {"shape": (40,), "minval": low, "maxval": high}, None
    yield "randint", {"shape": (), "minval": 0, "maxval": 1000}, None
    rows, columns = np.array([[0], [-9]], np.int32), np.array([1, 10, 100], np.int32)
    yield "randint", {"shape": (2, 3), "minval": rows, "maxval": columns}, None
    for low, high, dtype in ((0, 256, "uint8"), (-128, 128, "int8"), (0, 65536, "uint16"), (-7, 300, "int8")):
        yield "randint", {"shape": (64,), "minval": low, "maxval": high, "dtype": dtype}, None
    yield "bernoulli", {}, None
    for mode in ("low", "high"):
        for p in (0.0, 0.1, 0.3, 0.5, 0.999, 1.0):
            yield "bernoulli", {"p": p, "shape": (257,), "mode": mode}, None
        yield "bernoulli", {"p": np.linspace(0, 1, 12, dtype=F32), "mode": mode}, None


def selection_cases():
    matrix = np.arange(60, dtype=np.int32).reshape(5, 12)
    weights = np.array([0.1, 0.2, 0.3, 0.15, 0.25], F32)
    many = np.arange(1, 301, dtype=F32) / F32(45150)
    columns = np.linspace(0.5, 1, 12, dtype=F32)
    for n in (0, 1, 2, 17, 1625, 1626):  # from 1626 elements on there are two rounds
        yield "permutation", {"x": n}, None
    yield "permutation", {"x": np.linspace(0, 1, 20, dtype=F32)}, None
    for axis in (0, 1, -1):
        yield "permutation", {"x": matrix, "axis": axis}, None
        yield "permutation", {"x": matrix, "axis": axis, "independent": True}, None
    for replace in (True, False):
        yield "choice", {"a": 1000, "shape": (8, 8), "replace": replace}, None
        yield "choice", {"a": 1000, "replace": replace}, None
        yield "choice", {"a": 5, "shape": (4,), "replace": replace, "p": weights}, None
        yield "choice", {"a": 300, "shape": (250,), "replace": replace, "p": many}, None
        yield "choice", {"a": matrix, "shape": (3,), "replace": replace}, None
        yield "choice", {"a": matrix, "shape": (3, 2), "replace": replace, "axis": 1}, None
        yield "choice", {"a": matrix, "shape": (3,), "replace": replace, "p": weights}, None
        yield "choice", {"a": matrix, "shape": (2, 2), "replace": replace, "p": columns, "axis": -1}, None
        yield "choice", {"a": matrix[0], "shape": (7,), "replace": replace}, None
    yield "choice", {"a": 5, "shape": (4,), "replace": False, "p": weights, "mode": "high"}, None
    logits = np.log(np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]], F32))
    yield "categorical", {"logits": logits}, None
    yield "categorical", {"logits": logits, "axis": 0}, None
    yield "categorical", {"logits": logits, "shape": (50, 2)}, None
    yield "categorical", {"logits": logits, "shape": (9, 3), "axis": 0}, None
    yield "categorical", {"logits": logits, "shape": (50, 2), "mode": "high"}, None
    yield "categorical", {"logits": np.array([0.0, -np.inf, 1.0, 2.0], F32), "shape": (100,)}, None
    yield "categorical", {"logits": logits, "shape": (2, 2), "replace": False}, None
    yield "categorical", {"logits": logits, "shape": (2, 3), "axis": 0, "replace": False}, None
    yield "categorical", {"logits": logits, "shape": (3, 2), "replace": False, "mode": "high"}, None


def batch_cases():
    for batch in ((4,), (2, 3)):
        for fn in ("bits", "uniform", "normal", "exponential"):
            yield fn, {"shape": (7,)}, batch
        yield "normal", {"shape": ()}, batch
        yield "randint", {"shape": (3, 2), "minval": -10, "maxval": 1000}, batch
        yield "bernoulli", {"p": 0.25, "shape": (9,)}, batch
        yield "permutation", {"x": 9}, batch
    yield "permutation", {"x": 1700}, (2,)


def continuous_cases():
    for shape in ((), (33,), (4, 7)):
        yield "cauchy", {"shape": shape}, None
        yield "maxwell", {"shape": shape}, None
    rows, columns = np.array([[0.5], [1.0], [3.0]], F32), np.array([0.7, 1.0, 2.0, 10.0], F32)
    yield "double_sided_maxwell", {"loc": 1.0, "scale": 0.5, "shape": (65,)}, None
    yield "double_sided_maxwell", {"loc": columns, "scale": rows, "shape": (6,)}, None
    yield "truncated_normal", {"lower": -2.0, "upper": 2.0, "shape": (65,)}, None
    yield "truncated_normal", {"lower": -1.0, "upper": 0.25, "shape": (65,)}, None
    yield "truncated_normal", {"lower": -rows, "upper": columns / 4}, None
    for fn, name in (("pareto", "b"), ("rayleigh", "scale"), ("lognormal", "sigma")):
        yield fn, {name: 1.5, "shape": (65,)}, None
        yield fn, {name: columns}, None
        yield fn, {name: columns, "shape": (5, 4)}, None
    yield "lognormal", {}, None
    yield "lognormal", {"shape": (9,)}, None
    yield "weibull_min", {"scale": 2.0, "concentration": 1.5, "shape": (65,)}, None
    yield "weibull_min", {"scale": columns, "concentration": rows, "shape": (3, 4)}, None
    yield "weibull_min", {"scale": 0.5, "concentration": 3.0}, None
    yield "triangular", {"left": -1.0, "mode": 0.25, "right": 2.0, "shape": (65,)}, None
    yield "triangular", {"left": -rows, "mode": 0.0, "right": columns, "shape": (3, 4)}, None
    yield "triangular", {"left": -rows, "mode": -rows, "right": columns}, None
    yield "triangular", {"left": 1.0, "mode": 3.0, "right": 3.0, "shape": (9,)}, None


def gamma_family_cases():
    one = np.array([0.05, 0.3, 0.9, 1.0, 1.5, 7.0, 30.0, 1000.0], F32)
    for fn, name in (("gamma", "a"), ("loggamma", "a"), ("chisquare", "df"), ("t", "df")):
        yield fn, {name: 2.5, "shape": (200,)}, None
        yield fn, {name: 0.4, "shape": (200,)}, None
        yield fn, {name: one}, None
        yield fn, {name: one, "shape": (4, 8)}, None
    for a, b in ((0.5, 3.0), (20.0, 0.9)):
        yield "beta", {"a": a, "b": b, "shape": (200,)}, None
        yield "f", {"dfnum": np.full(200, a, F32), "dfden": np.full(200, b, F32)}, None
    reverse = one[::-1].copy()
    yield "beta", {"a": one, "b": reverse}, None
    yield "beta", {"a": one, "b": one[3:6, None], "shape": (3, 8)}, None
    tall = np.maximum(reverse, F32(0.9))  # below, JAX's chi-squares are too small for float32
    yield "f", {"dfnum": one, "dfden": tall}, None
    yield "f", {"dfnum": np.tile(one, (4, 1)), "dfden": np.tile(tall, (4, 1)), "shape": (4, 8)}, None
    yield "wald", {"mean": 1.0, "shape": (200,)}, None
    yield "wald", {"mean": one[:5]}, None
    yield "wald", {"mean": one[:5], "shape": (20, 5)}, None


def vector_cases():
    alpha = np.array([[0.2, 1.0, 5.0], [3.0, 0.7, 40.0]], F32)
    yield "dirichlet", {"alpha": alpha[0], "shape": (50,)}, None
    yield "dirichlet", {"alpha": alpha}, None
    yield "dirichlet", {"alpha": alpha, "shape": (7, 2)}, None
    for p in (0.5, 1.0, 2.0, 3.0):
        yield "generalized_normal", {"p": p, "shape": (99,)}, None
        yield "ball", {"d": 3, "p": p, "shape": (33,)}, None
    yield "ball", {"d": 4}, None
    yield "ball", {"d": 1, "shape": (9,)}, None
    mean = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 9.0]], F32)
    cov = np.array([[2.0, 0.3, 0.1], [0.3, 0.5, -0.2], [0.1, -0.2, 1.5]], F32)
    yield "multivariate_normal", {"mean": mean[0], "cov": cov}, None
    yield "multivariate_normal", {"mean": mean[0], "cov": cov, "shape": (20,)}, None
    yield "multivariate_normal", {"mean": mean, "cov": np.stack([cov, 4 * cov])}, None
    yield "multivariate_normal", {"mean": mean, "cov": cov, "shape": (5, 2)}, None
    for shape in ((), (3,), (2, 2)):
        yield "orthogonal", {"n": 4, "shape": shape}, None
    yield "orthogonal", {"n": 3, "m": 5, "shape": (2,)}, None
    yield "orthogonal", {"n": 5, "m": 3, "shape": (2,)}, None
    yield "orthogonal", {"n": 1, "shape": (9,)}, None


def count_cases():
    rates, chances = np.array([0.0, 0.1, 1.0, 5.0, 9.9], F32), np.array([0.01, 0.3, 0.9, 1.0], F32)
    for rate in (0.0, 0.2, 3.0, 9.5):
        yield "poisson", {"lam": rate, "shape": (100,)}, None
    yield "poisson", {"lam": rates}, None
    yield "poisson", {"lam": rates, "shape": (20, 5)}, None
    yield "poisson", {"lam": 4.0, "shape": (50,), "dtype": "int8"}, None
    for chance in (1e-4, 0.1, 0.5, 1.0):
        yield "geometric", {"p": chance, "shape": (100,)}, None
    yield "geometric", {"p": chances}, None
    yield "geometric", {"p": chances, "shape": (25, 4)}, None
    yield "geometric", {"p": 0.2, "shape": (50,), "dtype": "int16"}, None


def later_batch_cases():
    one = np.array([0.3, 1.0, 7.0], F32)
    for batch in ((4,), (2, 3)):
        yield "maxwell", {"shape": (5,)}, batch
        yield "gamma", {"a": one, "shape": (9, 3)}, batch
        yield "loggamma", {"a": one}, batch
        yield "beta", {"a": one, "b": 2.0, "shape": (9, 3)}, batch
        yield "t", {"df": one}, batch
        yield "dirichlet", {"alpha": one, "shape": (9,)}, batch
        yield "wald", {"mean": one / F32(7), "shape": (9, 3)}, batch
        yield "ball", {"d": 2, "shape": (9,)}, batch
        yield "poisson", {"lam": one, "shape": (9, 3)}, batch
        yield "geometric", {"p": 0.3, "shape": (9,)}, batch
        yield "orthogonal", {"n": 3}, batch
        yield "multivariate_normal", {"mean": one, "cov": np.diag(one), "shape": (2,)}, batch


def call(fn, seed, kwargs, batch):
    """The result of one case."""
    if fn == "PRNGKey":
        return jax.random.PRNGKey(**kwargs)
    if fn == "threefry_2x32":
        return threefry_2x32(kwargs["keypair"], kwargs["count"])
    key = jax.random.key(seed)
    if fn in KEY_FUNCTIONS:
        return jax.random.key_data(getattr(jax.random, fn)(key, **kwargs))

    def draw(key):
        return getattr(jax.random, fn)(key, **kwargs)

    for _ in batch or ():
        draw = jax.vmap(draw)
    return draw(key if batch is None else jax.random.split(key, batch))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    out = parser.parse_args().out
    manifest, arrays = [], {}

    def put(name, array):
        arrays[name] = np.asarray(array)
        return {"array": name}

    for partitionable in (True, False):
        jax.config.update("jax_threefry_partitionable", partitionable)
        for i, (fn, kwargs, batch) in enumerate(cases()):
            case, seed = f"{'p' if partitionable else 'o'}{i:04d}", 5000 + i
            record = {"id": case, "fn": fn, "partitionable": partitionable, "compare": COMPARE.get(fn, "exact")}
            if fn not in ("PRNGKey", "threefry_2x32"):
                record["seed"] = seed
            if batch is not None:
                record["batch"] = batch
            record["kwargs"] = {k: put(f"{case}.{k}", v) if isinstance(v, np.ndarray) else v for k, v in kwargs.items()}
            arguments = {k: jnp.asarray(v) if isinstance(v, np.ndarray) else v for k, v in kwargs.items()}
            record["result"] = put(f"{case}.result", call(fn, seed, arguments, batch))
            manifest.append(record)
    out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(out / "arrays.npz", **arrays)
    source = f"jax {jax.__version__}, CPU, x64 disabled"
    lines = ",\n".join(json.dumps(record) for record in manifest)
    (out / "manifest.json").write_text(f'{{"source": "{source}", "cases": [\n{lines}\n]}}\n')
    print(len(manifest), "cases", (out / "arrays.npz").stat().st_size, "bytes")


if __name__ == "__main__":
    main()
