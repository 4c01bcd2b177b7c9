"""Keys and samplers under ``jax.random``'s names, with its arguments, defaults and streams.

Conventions of all samplers here:

* The result of a draw of ``shape`` from a key of batch shape ``B`` has shape ``B + shape``, one row a key,
  on the key's device. Tensor parameters broadcast over it.
* Element *i* depends on the key and on *i*, its row-major index in ``shape``, alone. ``window``, where there is one,
  is a ``(start, stop)`` for each dimension of ``shape`` and draws only that part of the whole: it is equal to
  ``whole[start:stop, ...]``, and costs what its own size costs.
* ``dtype=None`` means the default. float16 and bfloat16 draws are the float32 draw rounded once, except
  for ``uniform``, which takes words of their own width as JAX does.
* A number as a parameter is checked; tensors are not looked into, as that would cost a device's synchronisation: where
  one is outside of the domain, that element (of draws of rows, that row) is NaN, or -1 in an integer dtype. Draws of
  continuous distributions are differentiable in tensors, forward and backward: pathwise, or implicitly in the gamma
  family (Figurnov, Mohamed & Mnih 2018).
* On a CUDA device a draw waits for nothing and copies nothing from or to the host, so that a CUDA graph can capture
  it: a key copied into the captured key's data then changes the draws of the next replay. Numbers as parameters are
  fixed at the capture. A tensor without dimensions on the CPU is such a number too, but where it has derivatives, is
  ``ball``'s p, a bound of ``randint`` or data of ``fold_in``, or in compiled code: it is copied there. All other
  tensors lie on the key's device. What does not keep to this says so: ``choice`` with ``p`` on the host,
  ``multivariate_normal`` by ``"svd"`` or ``"eigh"``.
* A wrong argument raises TypeError, ValueError or OverflowError before anything is drawn.
"""

from .continuous import (
    cauchy,
    double_sided_maxwell,
    exponential,
    gumbel,
    laplace,
    logistic,
    lognormal,
    maxwell,
    normal,
    pareto,
    rayleigh,
    triangular,
    truncated_normal,
    wald,
    weibull_min,
)
from .counts import binomial, geometric, multinomial, poisson
from .gamma_family import ball, beta, chisquare, dirichlet, f, gamma, generalized_normal, loggamma, t
from .keys import PRNGKey, clone, fold_in, key, key_data, key_impl, split, wrap_key_data
from .matrices import multivariate_normal, orthogonal
from .selections import categorical, choice, permutation, shuffle
from .words import bernoulli, bits, rademacher, randint, uniform

__all__ = [
    "PRNGKey",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "clone",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_impl",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "shuffle",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]
