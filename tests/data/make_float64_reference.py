"""Write float64_reference.npz: JAX's float64 log, log1p and erf_inv at the points below.

    pip install "jax==0.10.2" numpy
    JAX_ENABLE_X64=1 JAX_PLATFORMS=cpu python make_float64_reference.py

The file holds only the values, one array a function; the points are computed again by `points`,
with integer arithmetic and exact scaling, so that they are the same everywhere. JAX flushes
subnormal arguments and results to zero, so no point has either: those are tested without JAX.
"""

from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("float64_reference.npz")
FUNCTIONS = ("log", "log1p", "erf_inv")
COUNT = 4000  # in each group of points


def spread_words() -> np.ndarray:
    """Weyl's sequence of the golden ratio: 64-bit words spread evenly, all bits in use."""
    return np.arange(1, COUNT + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def points(function: str) -> np.ndarray:
    words = spread_words()
    unit = (words >> np.uint64(12)).astype(np.float64) * 2.0**-52  # as a uniform draw: multiples of 2^-52
    significand = 1.0 + unit
    index = np.arange(COUNT)
    near = np.ldexp(significand, -2 - index % 52)  # from 2^-53 to 1/2
    wide = np.ldexp(significand, index % 2040 - 1020)
    small = np.ldexp(significand, -1 - index % 1019)  # normal, and so are the results
    if function == "log":
        groups = [unit, 1.0 - near, 1.0 + near, wide, 0.5 + 1.5 * unit]
    elif function == "log1p":
        groups = [unit, -unit, near - 1.0, small, -small, wide]
    else:
        groups = [2.0 * unit - 1.0, 1.0 - near, near - 1.0, small, -small]
    return np.concatenate(groups)


def main() -> None:
    import jax

    assert jax.config.jax_enable_x64, "set JAX_ENABLE_X64=1"
    functions = {"log": jax.lax.log, "log1p": jax.lax.log1p, "erf_inv": jax.lax.erf_inv}
    values = {name: np.asarray(jax.jit(functions[name])(points(name))) for name in FUNCTIONS}
    np.savez_compressed(FILE, **values)


if __name__ == "__main__":
    main()
