"""Write gamma_slope.npz: d log x / d alpha at a fixed quantile of Gamma(alpha, 1), at the points below.

    pip install mpmath numpy scipy
    python make_gamma_slope.py                  # a few minutes
    python make_gamma_slope.py --coefficients   # prints the polynomials in csrc/gamma_slope.h

Two methods, both at 30 digits or more: the power series of the lower incomplete gamma function with
as many further digits as its cancellation takes, and for large alpha, where the series has too many
terms, an integral over the tail. Where both are feasible they must agree, and on some points so must
mpmath's own derivative of its incomplete gamma function.
"""

import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("gamma_slope.npz")

# ---- The Taylor coefficients in csrc/gamma_slope.h ----

ORDERS = 9  # of 1 / alpha
SMALLEST_ALPHA, LARGEST_LAMBDA = 24, 0.65
NEGLIGIBLE = 3e-16  # what a term may add at the smallest alpha and the largest lambda if it is left out


def bernoulli(count: int) -> list[Fraction]:
    """B_0, B_1 = -1/2, ... from sum_(j <= n) binomial(n + 1, j) B_j = 0."""
    numbers = [Fraction(1)]
    for n in range(1, count):
        known = sum((math.comb(n + 1, j) * number for j, number in enumerate(numbers)), Fraction(0))
        numbers.append(-known / (n + 1))
    return numbers


def taylor_series() -> list[list[Fraction]]:
    """The coefficients of G_0 ... in powers of lambda (see near_the_mean in csrc/gamma_slope.h).

    G_0 = lambda / (e^lambda - 1) and G_k = (G_(k-1)' - e_k) / (e^lambda - 1), where digamma(alpha) is
    log(alpha) + sum e_k alpha^-k: e_1 = -1/2 and e_k = -B_k / k (DLMF 5.11.2).
    """
    length = 40 + 2 * ORDERS
    numbers = bernoulli(length)
    first = [number / math.factorial(n) for n, number in enumerate(numbers)]
    series = [first]
    for k in range(1, ORDERS):
        slope = [(j + 1) * c for j, c in enumerate(series[-1][1:])]
        assert slope[0] == (numbers[1] if k == 1 else -numbers[k] / k)  # else G_k had a pole at 0
        series.append([sum(first[i] * slope[j + 1 - i] for i in range(j + 1)) for j in range(len(slope) - 1)])
    return series


def coefficients() -> list[list[float]]:
    """What csrc/gamma_slope.h has of them, lowest power first."""
    kept = []
    for k, series in enumerate(taylor_series()):
        sizes = [abs(c) * LARGEST_LAMBDA**j / SMALLEST_ALPHA**k for j, c in enumerate(series)]
        degree = max(j for j, size in enumerate(sizes) if size > NEGLIGIBLE)
        kept.append([float(c) for c in series[: degree + 1]])
    return kept


def coefficients_as_cpp() -> str:
    """One call of polynomial() for each order of 1 / alpha, highest powers first."""
    calls = []
    for values in reversed(coefficients()):
        words = ["lambda", *(repr(value) for value in reversed(values))]
        lines = ["      polynomial("]
        for position, word in enumerate(words):
            word += "," if position < len(words) - 1 else "),"
            if len(lines[-1]) + len(word) > 118:
                lines.append(" " * 17)
            lines[-1] += word if lines[-1].endswith("(") or not lines[-1].strip() else " " + word
        calls.append("\n".join(line.rstrip() for line in lines))
    return "\n".join(calls).rstrip(",")


# ---- Points ----

# Small ones, every decade; the range in which draws are made, finely; both sides of the borders
# between the header's methods.
ALPHAS = np.concatenate(
    [
        [1e-300, 2.5e-37, 1e-37, 1e-30, 1e-20, 1e-15, 1e-12, 1e-10, 1e-8, 1e-7, 1e-6, 1e-5],
        np.geomspace(1e-4, 1e4, 97),
        [0.5, 1.0, 1.5, 2.0, 2.25, 2.5, 2.75, 3.0, 4.0, 5.0, 23.75, 24.0, 24.25, 32.0],
        [1e5, 1e6, 1e7, 1e8, 1e10, 1e12, 1e15],
    ]
)
TAILS = np.array([1e-15, 1e-13, 1e-10, 1e-7, 1e-4, 1e-2, 0.05, 0.15, 0.3])
FAR_BELOW = np.array([-1.0, -10.0, -1e3, -1e6, -1e15, -1e37])
NEAR_ALPHA = np.array([-0.8, -0.66, -0.64, -0.4, -0.2, -0.05, -1e-3, 0.0, 1e-3, 0.05, 0.2, 0.4, 0.64, 0.66, 0.8])
NEAR_BORDERS = np.log([0.9, 1.5, 2.0, 2.4, 2.5, 2.6, 3.0, 4.0, 6.0])


def log_quantiles(alpha: float) -> np.ndarray:
    """Roughly: they only place the points."""
    from scipy import special

    lower = special.gammaincinv(alpha, TAILS) if alpha > 1e-300 else np.zeros(TAILS.size)
    upper = special.gammainccinv(alpha, TAILS) if alpha > 1e-300 else np.zeros(TAILS.size)
    tails = np.concatenate([TAILS, 1 - TAILS])
    far = (np.log(tails) + special.gammaln(alpha + 1)) / alpha  # P(alpha, x) = x^alpha / Gamma(alpha + 1)
    x = np.concatenate([lower, upper])
    return np.where(x > 1e-300, np.log(np.where(x > 1e-300, x, 1.0)), far)


def points() -> Iterator[tuple[float, float]]:
    for alpha in ALPHAS:
        log_x = [log_quantiles(alpha), min(np.log(alpha), 0.0) + FAR_BELOW]
        if alpha > 1:
            log_x.append(np.log(alpha) + NEAR_ALPHA)
        if alpha < 30:
            log_x.append(NEAR_BORDERS)
        yield from ((float(alpha), float(value)) for value in np.concatenate(log_x))


# ---- Reference values ----


def by_series(alpha: float, log_x: float) -> object:
    """Differentiate gamma(a, x) = x^a e^-x / a * sum c_n, c_n = x^n / ((a+1) ... (a+n)) (DLMF 8.11.4)."""
    import mpmath

    # The sum is about 1 / Q times as large as the slope, and log Q > -x.
    with mpmath.workdps(40 + int(0.44 * math.exp(min(log_x, 20)))):
        a, log_of_x = mpmath.mpf(alpha), mpmath.mpf(log_x)
        x = mpmath.exp(log_of_x)
        term, harmonic, sum_0, sum_1, n = mpmath.mpf(1), mpmath.mpf(0), mpmath.mpf(1), mpmath.mpf(0), 0
        while term * max(harmonic, 1) > mpmath.eps * sum_0:
            n += 1
            term *= x / (a + n)
            harmonic += 1 / (a + n)
            sum_0 += term
            sum_1 -= term * harmonic
        return -(sum_0 * (log_of_x - mpmath.digamma(a + 1)) + sum_1) / a


def by_integral(alpha: float, log_x: float) -> object:
    """The tail integral of dp/dalpha = p(t) (log t - digamma(alpha)) over x p(x), with t = x e^w."""
    import mpmath

    with mpmath.workdps(60):
        a, log_of_x = mpmath.mpf(alpha), mpmath.mpf(log_x)
        x, centre = mpmath.exp(log_of_x), mpmath.digamma(a)

        def integrand(w: object) -> object:
            return (log_of_x + w - centre) * mpmath.exp(a * w - x * mpmath.expm1(w))

        # Over the tail that x is in: there the integrand keeps its sign, and falls.
        sign = 1 if log_of_x > centre else -1
        # Past x the integrand falls as exp(-|x - a| |w| - a w^2 / 2).
        width = 1 / (abs(x - a) + mpmath.sqrt(a))
        ends = [sign * width * i for i in (0, 1, 2, 4, 8, 16, 32, 64, 128, 256)]
        return mpmath.quad(integrand, ends)


def by_derivative(alpha: float, log_x: float) -> object:
    import mpmath

    with mpmath.workdps(60):
        a, x = mpmath.mpf(alpha), mpmath.exp(mpmath.mpf(log_x))
        slope = mpmath.diff(lambda b: mpmath.gammainc(b, 0, x, regularized=True), a)
        return -slope / mpmath.exp(a * mpmath.log(x) - x - mpmath.loggamma(a))


def reference(alpha: float, log_x: float) -> object:
    return by_series(alpha, log_x) if alpha < 2e3 or log_x < 0 else by_integral(alpha, log_x)


def check_methods_agree() -> None:
    for alpha, log_x in [(300.0, 5.5), (300.0, 5.704), (300.0, 5.95), (3e3, 7.9), (3e3, 8.005), (3e3, 8.1)]:
        error = by_series(alpha, log_x) / by_integral(alpha, log_x) - 1
        assert abs(error) < 1e-25, (alpha, log_x, error)
    for alpha, log_x in [(1e-3, -50.0), (0.3, -3.0), (1.0, 0.0), (2.5, 2.0), (20.0, 2.0), (20.0, 3.9), (80.0, 4.5)]:
        error = by_series(alpha, log_x) / by_derivative(alpha, log_x) - 1
        assert abs(error) < 1e-20, (alpha, log_x, error)


def main() -> None:
    check_methods_agree()
    rows = [(alpha, log_x, min(float(reference(alpha, log_x)), sys.float_info.max)) for alpha, log_x in points()]
    alpha, log_x, slope = np.array(rows).T
    assert (slope > 0).all() and np.isfinite(slope).all()
    np.savez_compressed(FILE, alpha=alpha, log_x=log_x, slope=slope)


if __name__ == "__main__":
    if "--coefficients" in sys.argv:
        print(coefficients_as_cpp())
    else:
        main()
