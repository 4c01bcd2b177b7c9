"""Write draws of jax.random as JAX makes them by default: 64-bit types off, default dtypes.

    pip install "jax==0.10.2" numpy
    python generate.py OUT_DIR

The manifest is that of ../jax, with two additions: a case with `batch` was mapped (jax.vmap)
over split(key(seed), batch), and `threefry_2x32` is the array form of the cipher, which takes
no key. Every case is exact: the same bits, dtype and shape.
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


def cases():
    """Yield (fn, kwargs, batch)."""
    yield from key_cases()
    yield from elementwise_cases()
    yield from discrete_cases()
    yield from selection_cases()
    yield from batch_cases()


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
            record = {"id": case, "fn": fn, "partitionable": partitionable, "compare": "exact"}
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
