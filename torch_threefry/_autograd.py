"""Draws that are differentiable in their parameters.

The key is saved, not the draw; backward draws again. A draw's *slopes* are its derivatives in each parameter at fixed
words. For the gamma family, whose draws are no smooth function of the words, they are implicit: the derivatives
at a fixed quantile (Figurnov, Mohamed & Mnih, "Implicit reparameterization gradients", 2018), as in JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from . import _ops

_CODES = _ops.DTYPE_CODES

Arguments = _ops.Arguments


# ---- Draws ----


@dataclass(frozen=True)
class _Plan:
    """What a draw is made with besides tensors, as one object: functorch loses count of arguments that are
    sequences."""

    name: str
    impl: int
    size: Sequence[int]
    window: _ops.Window
    dtype: int

    def draw(self, key: Tensor, *parameters: Tensor) -> Tensor:
        return _OPERATORS[self.name](key, self.impl, self.size, self.window, *parameters, self.dtype)

    def slopes(self, key: Tensor, *parameters: Tensor) -> tuple[Tensor, ...]:
        return _SLOPES[self.name]((key, self.impl, self.size, self.window), self.dtype, *parameters)

    def parameter_gradients(self, grad: Tensor, key: Tensor, *parameters: Tensor) -> list[Tensor]:
        grad = grad.to(parameters[0].dtype)
        slopes = self.slopes(key, *parameters)
        return [(grad * slope).sum_to_size(p.shape) for slope, p in zip(slopes, parameters)]


class _Draw(torch.autograd.Function):
    """A draw in eager mode."""

    generate_vmap_rule = True

    @staticmethod
    def forward(plan: _Plan, key: Tensor, *parameters: Tensor) -> Tensor:
        return plan.draw(key, *parameters)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.plan, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, *ctx.plan.parameter_gradients(grad, *ctx.saved_tensors)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        slopes = ctx.plan.slopes(*ctx.saved_tensors)
        terms = [tangent * slope for tangent, slope in zip(tangents[2:], slopes) if tangent is not None]
        total: Tensor = sum(terms[1:], terms[0])
        return total.to(_ops.DTYPES[ctx.plan.dtype])


class _CompiledDraw(torch.autograd.Function):
    """A draw in compiled code. torch.compile traces no function with a jvp, with any number of arguments or with a plan
    among them; parameters that the draw does not have are None."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        name: str,
        key: Tensor,
        impl: int,
        size: Any,
        window: Any,
        dtype: int,
        first: Tensor,
        second: Tensor | None,
        third: Tensor | None,
    ) -> Tensor:
        return _Plan(name, impl, size, window, dtype).draw(key, *_present(first, second, third))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.sampler, key, ctx.impl, ctx.size, ctx.window, ctx.dtype, first, second, third = inputs
        ctx.save_for_backward(key, *_present(first, second, third))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        plan = _Plan(ctx.sampler, ctx.impl, ctx.size, ctx.window, ctx.dtype)
        grads = plan.parameter_gradients(grad, *ctx.saved_tensors)
        return None, None, None, None, None, None, *grads, *[None] * (3 - len(grads))


def _present(*parameters: Tensor | None) -> list[Tensor]:
    return [p for p in parameters if p is not None]


def draw(name: str, arguments: Arguments, parameters: Sequence[Tensor], dtype: int) -> Tensor:
    """A draw that is differentiable in its parameters, which have the type that the draw is computed in. Where
    derivatives are wanted, all of them lie on the key's device.

    Raises:
        NotImplementedError: where torch would give wrong second derivatives: in nested forward mode, and in compiled
            code under nested derivatives of torch.func, unless the draw is linear in its parameters. (There a gradient
            of torch.func inside of a ``backward()`` goes unnoticed: the slopes then count as constants.)
    """
    key, impl, size, window = arguments
    plan = _Plan(name, impl, size, window, dtype)
    if not derivatives_wanted(*parameters):
        return plan.draw(key, *parameters)
    if not torch.compiler.is_compiling():
        if _derivatives_around(forward_only=True) > 1:
            raise NotImplementedError(
                f"{name} has no nested forward-mode derivatives; take jacfwd of jacrev, as hessian does"
            )
        drawn: Tensor = _Draw.apply(plan, key, *parameters)  # type: ignore[no-untyped-call]
        return drawn
    if _is_transformed():
        if name not in _LINEAR and _derivatives_around(forward_only=False) > 1:
            raise NotImplementedError(f"{name} has first derivatives only in compiled code")
        return _as_ordinary_operations(plan, key, parameters)
    padded = [*parameters, *[None] * (3 - len(parameters))]
    drawn = _CompiledDraw.apply(name, key, impl, size, window, dtype, *padded)  # type: ignore[no-untyped-call]
    return drawn


def derivatives_wanted(*tensors: Tensor) -> bool:
    """Whether anything may ask for derivatives in one of these."""
    return _is_transformed() or (torch.is_grad_enabled() and any(t.requires_grad for t in tensors))


def _is_transformed() -> bool:
    """Whether forward mode or a transform of torch.func is around."""
    return forward_ad._current_level >= 0 or torch._C._functorch.peek_interpreter_stack() is not None


def _as_ordinary_operations(plan: _Plan, key: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    """Compiled transforms of torch.func ignore autograd functions. This adds zero to the draw, and the slopes to its
    derivatives."""
    fixed = [p.detach() for p in parameters]
    result = plan.draw(key, *fixed)
    slopes = plan.slopes(key, *fixed)
    terms = [p * slope for p, slope in zip(parameters, slopes)]
    moved: Tensor = sum(terms[1:], terms[0])
    return result + (moved - moved.detach()).to(result.dtype)


def _derivatives_around(forward_only: bool) -> int:
    """How many of torch.func's derivatives are around."""
    kinds = torch._C._functorch.TransformType
    wanted = (kinds.Jvp,) if forward_only else (kinds.Jvp, kinds.Grad)
    return sum(level.key() in wanted for level in torch._C._functorch.get_interpreter_stack() or ())


# torch.compile is to call it as it traces. This is all that torch.compiler.assume_constant_result does, but for importing
# the compiler, which takes longer than all the rest of this library.
_derivatives_around._dynamo_marked_constant = True  # type: ignore[attr-defined]


# ---- Slopes of inversions ----


def _uniform_slopes(arguments: Arguments, dtype: int, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    """low + u (high - low); an empty range is low."""
    u = _ops.uniform(*arguments, 0.0, 1.0, dtype).to(low.dtype)
    in_high = torch.where(low < high, u, 0.0)
    return 1 - in_high, in_high


def _pareto_slopes(arguments: Arguments, dtype: int, b: Tensor) -> tuple[Tensor]:
    e = _ops.exponential(*arguments, _CODES[b.dtype])
    return (-_again("pareto", arguments, b) * e / (b * b),)


def _rayleigh_slopes(arguments: Arguments, dtype: int, scale: Tensor) -> tuple[Tensor]:
    return (_again("rayleigh", arguments, torch.ones_like(scale)),)


def _weibull_min_slopes(
    arguments: Arguments, dtype: int, scale: Tensor, concentration: Tensor
) -> tuple[Tensor, Tensor]:
    e = _ops.exponential(*arguments, _CODES[scale.dtype])
    log_e = torch.where(e > 0, e, 1.0).log()
    unit = _again("weibull_min", arguments, torch.ones_like(scale), concentration)
    return unit, -scale * unit * log_e / (concentration * concentration)


def _lognormal_slopes(arguments: Arguments, dtype: int, sigma: Tensor) -> tuple[Tensor]:
    return (_again("lognormal", arguments, sigma) * _ops.normal(*arguments, _CODES[sigma.dtype]),)


def _double_sided_maxwell_slopes(arguments: Arguments, dtype: int, loc: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    standard = _again("double_sided_maxwell", arguments, torch.zeros_like(loc), torch.ones_like(scale))
    return torch.ones_like(standard), standard


def _triangular_slopes(
    arguments: Arguments, dtype: int, left: Tensor, mode: Tensor, right: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """left + sqrt(u width rise) before the mode, right - sqrt((1 - u) width fall) after it."""
    u = _ops.uniform(*arguments, 0.0, 1.0, _CODES[left.dtype])
    width, rise, fall = right - left, mode - left, right - mode
    before = u < rise / width
    part, near = torch.where(before, u, 1 - u), torch.where(before, rise, fall)
    in_mode = (part * width).sqrt() / (2 * torch.where(near > 0, near, 1.0).sqrt())
    towards_far = (part / width).sqrt() * near.sqrt() / 2
    own = 1 - in_mode - towards_far
    return torch.where(before, own, towards_far), in_mode, torch.where(before, towards_far, own)


def _wald_slopes(arguments: Arguments, dtype: int, mean: Tensor) -> tuple[Tensor]:
    """mean / r or mean r, r = 1 + t + sqrt(t (2 + t)), t = mean y / 2."""
    y = _ops.normal(*_child(arguments, 0), _CODES[mean.dtype]).square()
    t = mean * y / 2
    r = 1 + t + t.sqrt() * (2 + t).sqrt()
    r_slope = (t + t.sqrt() * (1 + t) / (2 + t).sqrt()) / mean
    smaller = _again("wald", arguments, mean) <= mean
    return (torch.where(smaller, (1 - mean * r_slope / r) / r, r + mean * r_slope),)


def _truncated_normal_slopes(arguments: Arguments, dtype: int, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
    """The part of the probability that a bound's move shifts past the draw, over the draw's density."""
    u = _ops.uniform(*arguments, 0.0, 1.0, _CODES[lower.dtype])
    x = _again("truncated_normal", arguments, lower, upper)
    # The density is log-concave: neither slope is above 1, but for the draw's rounding far out in a tail.
    from_lower = ((1 - u) * ((x - lower) * (x + lower) / 2).exp()).clamp(max=1)
    from_upper = (u * ((x - upper) * (x + upper) / 2).exp()).clamp(max=1)
    return torch.where(lower.isinf(), 0.0, from_lower), torch.where(upper.isinf(), 0.0, from_upper)


# ---- Slopes of the gamma family ----


class _LogGammaSlope(torch.autograd.Function):
    """The derivative of a log-gamma draw in its concentration, which has no derivative of its own here."""

    generate_vmap_rule = True

    @staticmethod
    def forward(concentration: Tensor, log_draw: Tensor) -> Tensor:
        return _ops.loggamma_slope(concentration, log_draw)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        raise NotImplementedError("gamma draws and what is made of them have first derivatives only")


def _log_slope(arguments: Arguments, concentration: Tensor) -> tuple[Tensor, Tensor]:
    """A log-gamma draw and its derivative in the concentration."""
    log_draw = _ops.loggamma(*arguments, concentration.detach(), _CODES[concentration.dtype])
    wide = concentration.expand(log_draw.shape).contiguous()
    slope: Tensor = _LogGammaSlope.apply(wide, log_draw)  # type: ignore[no-untyped-call]
    return log_draw, slope


def _gamma_slopes(arguments: Arguments, dtype: int, a: Tensor) -> tuple[Tensor]:
    log_draw, slope = _log_slope(arguments, a)
    return (log_draw.exp() * slope,)


def _loggamma_slopes(arguments: Arguments, dtype: int, a: Tensor) -> tuple[Tensor]:
    return (_log_slope(arguments, a)[1],)


def _chisquare_slopes(arguments: Arguments, dtype: int, df: Tensor) -> tuple[Tensor]:
    log_draw, slope = _log_slope(arguments, df / 2)
    return (log_draw.exp() * slope,)


def _beta_slopes(arguments: Arguments, dtype: int, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    log_first, first_slope = _log_slope(_child(arguments, 0), a)
    log_second, second_slope = _log_slope(_child(arguments, 1), b)
    smaller = (-(log_first - log_second).abs()).exp()  # over the larger
    spread = smaller / (1 + smaller).square()  # x (1 - x)
    return spread * first_slope, -spread * second_slope


def _f_slopes(arguments: Arguments, dtype: int, dfnum: Tensor, dfden: Tensor) -> tuple[Tensor, Tensor]:
    _, in_denominator = _log_slope(_child(arguments, 0), dfden / 2)
    _, in_numerator = _log_slope(_child(arguments, 1), dfnum / 2)
    x = _again("f", arguments, dfnum, dfden)
    return x * (in_numerator / 2 - 1 / dfnum), x * (1 / dfden - in_denominator / 2)


def _t_slopes(arguments: Arguments, dtype: int, df: Tensor) -> tuple[Tensor]:
    """The logarithm of |t| is that of a normal, plus half of log(df / 2) - loggamma(df / 2)."""
    _, slope = _log_slope(_child(arguments, 1), df / 2)
    return (_again("t", arguments, df) * (1 / (2 * df) - slope / 4),)


def _generalized_normal_slopes(arguments: Arguments, dtype: int, p: Tensor) -> tuple[Tensor]:
    """The logarithm of |x| is loggamma(1 / p) / p."""
    log_draw, slope = _log_slope(_child(arguments, 0), 1 / p)
    return (-_again("generalized_normal", arguments, p) * (slope / p + log_draw) / (p * p),)


def _child(arguments: Arguments, number: int) -> Arguments:
    """The same draw from the key's first or second child."""
    key, impl, size, window = arguments
    return _ops.split(key, impl, (2,))[..., number, :], impl, size, window


def _again(name: str, arguments: Arguments, *parameters: Tensor) -> Tensor:
    """The draw, in the type it is computed in; differentiable where a second derivative is asked for."""
    if torch.is_grad_enabled() and not torch.compiler.is_compiling():
        return draw(name, arguments, parameters, _CODES[parameters[0].dtype])
    return _OPERATORS[name](*arguments, *parameters, _CODES[parameters[0].dtype])


# Samplers whose slopes do not depend on the parameters.
_LINEAR = ("uniform", "rayleigh", "double_sided_maxwell")

# (arguments, dtype, parameter...) -> the draw's derivative in each parameter.
_SLOPES: dict[str, Callable[..., tuple[Tensor, ...]]] = {
    "uniform": _uniform_slopes,
    "pareto": _pareto_slopes,
    "rayleigh": _rayleigh_slopes,
    "weibull_min": _weibull_min_slopes,
    "lognormal": _lognormal_slopes,
    "double_sided_maxwell": _double_sided_maxwell_slopes,
    "triangular": _triangular_slopes,
    "wald": _wald_slopes,
    "truncated_normal": _truncated_normal_slopes,
    "gamma": _gamma_slopes,
    "loggamma": _loggamma_slopes,
    "chisquare": _chisquare_slopes,
    "beta": _beta_slopes,
    "f": _f_slopes,
    "t": _t_slopes,
    "generalized_normal": _generalized_normal_slopes,
}
_OPERATORS: dict[str, _ops.Operator] = {name: getattr(_ops, name) for name in _SLOPES}
_OPERATORS["uniform"] = _ops.uniform_tensor


# ---- Functions of whole rows ----


def softmax(logits: Tensor) -> Tensor:
    """exp(x) scaled to the sum 1, along the last dimension."""
    value = _ops.softmax(logits.detach().contiguous())
    if not derivatives_wanted(logits):
        return value
    return _with_derivatives_of(value, torch.softmax(logits, -1))


def ball(log_gammas: Tensor, words: Tensor, exponentials: Tensor, p: Tensor) -> Tensor:
    """Points of the unit ball of the p-norm: a row of gamma draws' logarithms and signed words each, with an
    exponential and p."""
    rows = [x.expand(log_gammas.shape[:-1]).contiguous() for x in (exponentials, p.detach())]
    value = _ops.ball(log_gammas.detach().contiguous(), words.contiguous(), *rows)
    if not derivatives_wanted(log_gammas, p):
        return value
    log_sum = torch.logaddexp(log_gammas.logsumexp(-1), exponentials.log())
    size = ((log_gammas - log_sum[..., None]) / p[..., None]).exp()
    return _with_derivatives_of(value, torch.where(words < 0, -size, size))


def _with_derivatives_of(value: Tensor, formula: Tensor) -> Tensor:
    """The value of the one, bit for bit, with the derivatives of the other, torch's way of computing it."""
    return value + (formula - formula.detach())  # zero is added
