"""csrc/gamma_slope.h, compiled alone by g++, against reference values of 30 digits."""

from __future__ import annotations

import ctypes
import runpy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import special, stats
from test_headers import CSRC, CXX, DATA, FLAGS, run, targets

REFERENCE = runpy.run_path(str(DATA / "make_gamma_slope.py"))
LARGEST = np.finfo(np.float64).max
INF, NAN = np.inf, np.nan

SOURCE = """
#include "gamma_slope.h"
using namespace torch_threefry;
extern "C" void slope(const double* alpha, const double* log_x, double* y, long n) {
  for (long i = 0; i < n; ++i) y[i] = numerics::loggamma_slope(alpha[i], log_x[i]);
}
extern "C" void digamma(const double* x, const double*, double* y, long n) {
  for (long i = 0; i < n; ++i) y[i] = numerics::digamma(x[i]);
}
"""

Function = Callable[..., np.ndarray]


def build(target: list[str], folder: Path) -> dict[str, Function]:
    source, library = folder / "slope.cpp", folder / "slope.so"
    source.write_text(SOURCE)
    run(*CXX, *FLAGS, *target, "-fPIC", "-shared", source, "-lm", "-o", library)
    loaded = ctypes.CDLL(str(library))

    def function(name: str) -> Function:
        def call(*arguments: np.ndarray | float) -> np.ndarray:
            first, second = arguments if len(arguments) == 2 else arguments * 2
            x, y = (np.ascontiguousarray(v, np.float64) for v in np.broadcast_arrays(first, second))
            result = np.empty(x.shape)
            pointers = [ctypes.c_void_p(v.ctypes.data) for v in (x, y, result)]
            getattr(loaded, name)(*pointers, ctypes.c_long(x.size))
            return result

        return call

    return {name: function(name) for name in ("slope", "digamma")}


@pytest.fixture(scope="module", params=targets())
def functions(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Function]:
    return build(request.param, tmp_path_factory.mktemp("slope"))


@pytest.fixture(scope="module")
def reference() -> dict[str, np.ndarray]:
    with np.load(REFERENCE["FILE"]) as values:
        return dict(values)


def relative_error(value: np.ndarray, expected: np.ndarray) -> np.ndarray:
    return np.abs(value - expected) / expected


def test_slope_against_reference(functions: dict[str, Function], reference: dict[str, np.ndarray]) -> None:
    alpha, log_x, expected = (reference[name] for name in ("alpha", "log_x", "slope"))
    assert alpha.size > 4000 and np.isin(REFERENCE["ALPHAS"], alpha).all()
    error = relative_error(functions["slope"](alpha, log_x), expected)
    worst = error.argmax()
    assert error[worst] < 5e-14, f"slope({alpha[worst]!r}, {log_x[worst]!r}): {error[worst]:.1e}"
    assert np.median(error) < 5e-16


def test_coefficients_are_those_of_the_expansion() -> None:
    assert REFERENCE["coefficients_as_cpp"]() in (CSRC / "gamma_slope.h").read_text()


@pytest.mark.parametrize("alpha", [1e-4, 0.02, 0.5, 2.0, 7.5, 23.0, 25.0, 300.0, 1e4])
def test_slope_is_that_of_scipys_quantiles(functions: dict[str, Function], alpha: float) -> None:
    """The definition: move alpha and see how far the quantile goes."""
    log_x, slope = [], []
    step = 1e-4 * alpha
    for q in (0.05, 0.5, 0.95):
        if alpha < 0.01:  # the quantiles underflow: P(alpha, x) = x^alpha / Gamma(alpha + 1) to all digits
            log_quantile = [(np.log(q) + special.gammaln(a + 1)) / a for a in (alpha - step, alpha, alpha + step)]
        else:
            log_quantile = np.log(stats.gamma.ppf(q, [alpha - step, alpha, alpha + step]))
        log_x.append(log_quantile[1])
        slope.append((log_quantile[2] - log_quantile[0]) / (2 * step))
    np.testing.assert_allclose(functions["slope"](alpha, np.array(log_x)), slope, rtol=1e-6)


@pytest.mark.parametrize("target", targets()[1:])
def test_bits_are_those_of_the_oldest_target(
    target: list[str], reference: dict[str, np.ndarray], tmp_path: Path
) -> None:
    bits = []
    for name, flags in {"oldest": targets()[0].values[0], "target": target}.items():
        (tmp_path / name).mkdir()
        functions = build(flags, tmp_path / name)
        both = functions["slope"](reference["alpha"], reference["log_x"]), functions["digamma"](reference["alpha"])
        bits.append(np.concatenate(both).view(np.int64))
    assert np.array_equal(*bits)


def test_the_methods_meet(functions: dict[str, Function]) -> None:
    """On both sides of each border the function is the same: nothing jumps."""
    steps = np.array([-1e-9, 1e-9])
    log_x = np.linspace(-6, 6, 241)[:, None]
    at_24 = functions["slope"](24 * (1 + steps), np.log(24) + log_x)
    alpha = np.geomspace(24.5, 1e6, 60)[:, None]
    low, high = (functions["slope"](alpha, np.log(alpha) + border + steps) for border in (-0.65, 0.65))
    alpha = np.geomspace(2.0, 23.9, 60)[:, None]
    middle = functions["slope"](alpha, np.log(alpha) + steps)
    small = functions["slope"](np.geomspace(1e-30, 2.0, 200)[:, None], np.log(2) + steps)
    for pair in (at_24, low, high, middle, small):
        np.testing.assert_allclose(pair[:, 0], pair[:, 1], rtol=2e-7)


def test_slope_is_positive_and_finite_everywhere(functions: dict[str, Function]) -> None:
    alpha = np.concatenate([[5e-324, 1e-310], np.geomspace(1e-300, 1e300, 601), np.geomspace(1, 100, 397)])
    size = np.geomspace(1e-300, 1e300, 301)
    log_x = np.concatenate([-size, [0.0], size, np.linspace(-750, 750, 1501)])
    slope = functions["slope"](alpha[:, None], log_x)
    assert np.isfinite(slope).all() and (slope >= 0).all()
    assert (slope[:, log_x < 0] > 0).all()


@pytest.mark.parametrize(
    ("alpha", "log_x", "expected"),
    [
        (0.0, [-INF, -1e37, -1.0, 0.0, 5.0], LARGEST),  # all of Gamma(0)'s mass is at x = 0
        (-0.0, [-INF, -1e37], LARGEST),
        ([1e-30, 1.0, 1e4, 1e15, 1e300], -INF, LARGEST),
        ([1e-300, 2.5e-37], [-1e37, -1e300], LARGEST),  # overflow
        ([5e-324, 1e-310], -1.0, LARGEST),
        ([1.0, 1e4], INF, 0.0),
        (INF, 1.0, 0.0),
        ([-1.0, -1e-300, -INF, NAN], -3.0, NAN),
        ([-1.0, NAN], -INF, NAN),
        ([0.0, 1.0, INF, NAN], NAN, NAN),
        # Gamma(1) is exponential: x = -log(1 - u). At x -> 0 the slope is (digamma(alpha + 1) - log x) / alpha.
        (1.0, -1e300, 1e300),
        (2.5e-37, -1e37, 4e73),
    ],
)
def test_special_values(
    functions: dict[str, Function], alpha: float | list[float], log_x: float | list[float], expected: float
) -> None:
    slope = functions["slope"](np.array(alpha), np.array(log_x))
    np.testing.assert_allclose(slope, np.full(slope.shape, expected), rtol=1e-15)


def test_digamma(functions: dict[str, Function]) -> None:
    """Against SciPy's, which is accurate to some units in the last place and, near its zero, in the value."""
    x = np.concatenate([np.geomspace(1e-300, 1e300, 2001), np.linspace(0.01, 20, 2000)])
    np.testing.assert_allclose(functions["digamma"](x), special.digamma(x), rtol=2e-15, atol=1e-15)
    outside = np.array([0.0, -1.0, -0.5, -INF, NAN])
    assert np.isnan(functions["digamma"](outside)).all() and functions["digamma"](np.array([INF]))[0] == INF
