"""Train a small classifier of handwritten digits on keyed random numbers, and show what they promise.

``python -m torch_threefry.demo`` trains under ``torch.compile``. Initial weights, the order of the images in
each epoch and the dropout masks are functions of one key. Then it trains again in other ways (eager, on other
threads, stopped and resumed) and prints a table of what must be equal to the last bit, and whether it was.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from . import Key, random

PIXELS, HIDDEN, CLASSES = 64, 256, 10
TEST_IMAGES = 360
BATCH = 128  # BATCH * HIDDEN draws a step are enough for two threads to share them
KEEP = 0.75
LEARNING_RATE = 4e-3

# The first 32-bit words of key 1701 that JAX publishes, in its tests.
JAX_WORDS = {
    "threefry2x32": (1111271205, 2679469115, 974515252),
    "threefry2x32_original": (56197195, 4200222568, 961309823),
}

# ---- The task ----


@dataclass(frozen=True)
class Digits:
    """Images as rows of pixels in 0..1, and their labels."""

    train_x: Tensor
    train_y: Tensor
    test_x: Tensor
    test_y: Tensor


def load_digits() -> Digits:
    """scikit-learn's bundled 1797 images of 8x8 pixels; the test images are chosen by a key of their own."""
    try:
        from sklearn import datasets  # type: ignore
    except ImportError:
        sys.exit("The demo trains on scikit-learn's digits: pip install torch_threefry[demo]")
    bundled = datasets.load_digits()
    x = torch.from_numpy(bundled.data).float() / 16
    y = torch.from_numpy(bundled.target).long()
    order = random.key(0).randperm(len(x))
    test, train = order[:TEST_IMAGES], order[TEST_IMAGES:]
    return Digits(x[train], y[train], x[test], y[test])


class Classifier(nn.Module):
    """Two layers with a ReLU between them; the initial weights are drawn from a key."""

    def __init__(self, key: Key) -> None:
        super().__init__()
        k_hidden, k_output = key.split()
        self.w_hidden = nn.Parameter(random.normal(k_hidden, (PIXELS, HIDDEN)) * math.sqrt(2 / PIXELS))
        self.b_hidden = nn.Parameter(torch.zeros(HIDDEN))
        self.w_output = nn.Parameter(random.normal(k_output, (HIDDEN, CLASSES)) * math.sqrt(1 / HIDDEN))
        self.b_output = nn.Parameter(torch.zeros(CLASSES))

    def hidden(self, x: Tensor) -> Tensor:
        """The first layer, from pixels to features."""
        return F.relu(x @ self.w_hidden + self.b_hidden)

    def output(self, features: Tensor) -> Tensor:
        """The second layer, from features to a score for each class."""
        return features @ self.w_output + self.b_output


# ---- Random numbers as functions of a key and a step ----


def dropout_mask(key: Key, step: Tensor, shape: Sequence[int]) -> Tensor:
    """Which elements are kept in a step."""
    return random.bernoulli(key.fold_in(step), KEEP, shape)


def epoch_order(key: Key, epoch: Tensor, images: int) -> Tensor:
    """The order in which an epoch goes through the images."""
    return key.fold_in(epoch).randperm(images)


def dropout(key: Key, step: Tensor, x: Tensor, draw: Callable[..., Tensor] = dropout_mask) -> tuple[Tensor, Tensor]:
    """x with a random part of it set to zero and the rest scaled up; and the mask, for the table's sake."""
    kept = draw(key, step, x.shape)
    return torch.where(kept, x / KEEP, 0.0), kept


def training_loss(
    model: Classifier,
    x: Tensor,
    y: Tensor,
    key: Key,
    step: Tensor,
    draw_mask: Callable[..., Tensor] = dropout_mask,
) -> tuple[Tensor, Tensor]:
    """The loss of a batch under dropout, and the mask."""
    features, kept = dropout(key, step, model.hidden(x), draw_mask)
    return F.cross_entropy(model.output(features), y), kept


# ---- Ways to compute the same training ----


@dataclass(frozen=True)
class Way:
    """The functions that training calls."""

    loss: Callable[..., tuple[Tensor, Tensor]]
    order: Callable[..., Tensor]


def eager(draw_threads: int = 1) -> Way:
    """Nothing is compiled; the draws run on some threads."""
    return Way(
        partial(training_loss, draw_mask=on_threads(draw_threads, dropout_mask)),
        on_threads(draw_threads, epoch_order),
    )


def compiled_draws() -> Way:
    """The draws are compiled; the model's arithmetic is eager."""
    return Way(partial(training_loss, draw_mask=compiled(dropout_mask)), compiled(epoch_order))


def compiled_whole() -> Way:
    """Model, dropout and draws are compiled into one graph, which takes the key and the step."""
    return Way(compiled(training_loss), compiled(epoch_order))


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as one graph."""
    return torch.compile(function, fullgraph=True)


def on_threads(count: int, draw: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The draw, computed on ``count`` threads whatever the rest of the program runs on."""

    def drawn(*args: Any) -> Tensor:
        with threads(count):
            return draw(*args)

    return drawn


@contextmanager
def threads(count: int) -> Iterator[None]:
    """torch's threads inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


# ---- Training ----


@dataclass
class Training:
    """All that a training is: to go on from here, nothing else is needed."""

    key: Key
    model: Classifier
    optimizer: torch.optim.Optimizer
    step: int = 0
    losses: list[float] = field(default_factory=list)
    masks: list[Tensor] = field(default_factory=list)


def start(key: Key) -> Training:
    """A training before its first step."""
    model = Classifier(key.fold_in(0))
    return Training(key, model, torch.optim.Adam(model.parameters(), lr=LEARNING_RATE))


def steps_of(digits: Digits, epochs: int) -> int:
    """How many steps the epochs have; the last images of an order, too few for a batch, are left out."""
    return epochs * (len(digits.train_x) // BATCH)


def train(training: Training, digits: Digits, until: int, way: Way, progress: Progress) -> Training:
    """Go on to step ``until``, wherever the training is: what a step draws depends on the key and its number alone."""
    k_order, k_dropout = training.key.fold_in(1).split()
    images = len(digits.train_x)
    per_epoch = steps_of(digits, 1)
    order = torch.empty(0)
    for step in range(training.step, until):
        epoch, batch = divmod(step, per_epoch)
        if batch == 0 or step == training.step:
            order = way.order(k_order, torch.tensor(epoch), images)
        chosen = order[batch * BATCH : (batch + 1) * BATCH]
        loss, kept = way.loss(
            training.model, digits.train_x[chosen], digits.train_y[chosen], k_dropout, torch.tensor(step)
        )
        training.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        training.optimizer.step()
        training.losses.append(loss.item())
        training.masks.append(kept)
        training.step = step + 1
        progress.show(training.step, until, f"loss {training.losses[-1]:.3f}")
    return training


def save(training: Training, path: Path) -> None:
    """Write a training to a file."""
    torch.save(
        {
            "key": training.key,
            "step": training.step,
            "model": training.model.state_dict(),
            "optimizer": training.optimizer.state_dict(),
        },
        path,
    )


def load(path: Path) -> Training:
    """Read a training that :func:`save` wrote."""
    saved = torch.load(path, weights_only=True)
    training = start(saved["key"])
    training.model.load_state_dict(saved["model"])
    training.optimizer.load_state_dict(saved["optimizer"])
    training.step = saved["step"]
    return training


@torch.no_grad()
def test_accuracy(training: Training, digits: Digits) -> float:
    """The part of the test images that the model gets right, without dropout."""
    model = training.model
    return (model.output(model.hidden(digits.test_x)).argmax(1) == digits.test_y).float().mean().item()


def weights(training: Training) -> Tensor:
    """All weights as one vector."""
    return torch.cat([p.detach().flatten() for p in training.model.parameters()])


# ---- The promises ----


@dataclass(frozen=True)
class Promise:
    """A line of the table."""

    what: str
    found: str
    kept: bool


def jax_words_promise(impl: str) -> Promise:
    """The stream of this impl is JAX's."""
    drawn = tuple(random.bits(random.key(1701, impl=impl), (3,)).tolist())
    return Promise(f"first words of key 1701, {impl} = JAX's", " ".join(map(str, drawn)), drawn == JAX_WORDS[impl])


def masks_promise(training: Training) -> Promise:
    """The masks inside of the compiled steps are those that one draws eagerly."""
    _, k_dropout = training.key.fold_in(1).split()
    shape = (BATCH, HIDDEN)
    differ = sum(
        not torch.equal(kept, dropout_mask(k_dropout, torch.tensor(step), shape))
        for step, kept in enumerate(training.masks)
    )
    return Promise(
        "dropout masks: compiled steps = eager draws (a)",
        f"{differ} of {len(training.masks)} differ",
        differ == 0,
    )


def weights_promise(what: str, one: Training, other: Training) -> Promise:
    """Two trainings end with the same bits."""
    bits, other_bits = (weights(training).view(torch.int32) for training in (one, other))
    differ = int((bits != other_bits).sum())
    return Promise(f"final weights: {what}", f"{differ} of {len(bits)} differ", differ == 0 and one.step == other.step)


def check_promises(key: Key, digits: Digits, whole: Training, show: Callable[[str], Progress]) -> list[Promise]:
    """Train in other ways and compare; ``whole`` is the finished training of :func:`compiled_whole`."""
    until = whole.step
    stop = until // 2 - 1  # in the midst of an epoch
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "training.pt")
        save(train(start(key), digits, stop, compiled_whole(), show("stopped early")), path)
        resumed = train(load(path), digits, until, compiled_whole(), show("resumed"))
    plain = train(start(key), digits, until, eager(), show("eager"))
    drawn_compiled = train(start(key), digits, until, compiled_draws(), show("compiled draws"))
    drawn_on_two = train(start(key), digits, until, eager(draw_threads=2), show("draws on 2 threads"))
    return [
        *(jax_words_promise(impl) for impl in JAX_WORDS),
        masks_promise(whole),
        weights_promise("compiled draws = eager draws (b)", drawn_compiled, plain),
        weights_promise("draws on 2 threads = on 1 thread (b)", drawn_on_two, plain),
        weights_promise(f"resumed from a file at step {stop} = uninterrupted", resumed, whole),
    ]


# ---- What is printed ----


class Progress:
    """A line that rewrites itself in a terminal; in a log file, a line every few steps."""

    def __init__(self, name: str, lines: int) -> None:
        self._name = name
        self._lines = lines
        self._started = time.perf_counter()

    def show(self, done: int, total: int, note: str) -> None:
        """Say how far it is."""
        terminal = sys.stdout.isatty()
        if not terminal and done * self._lines // total == (done - 1) * self._lines // total:
            return
        elapsed = time.perf_counter() - self._started
        line = f"  {self._name:<20} step {done:>4}/{total}   {note}   {elapsed:5.1f} s"
        end = "\n" if not terminal or done == total else ""
        print(f"\r{line:<78}" if terminal else line, end=end, flush=True)


def text_plot(values: Sequence[float], columns: int = 60, rows: int = 8) -> str:
    """A curve in characters, on a logarithmic scale; each column is a mean over its part of the values."""
    columns = min(columns, len(values))
    edges = [i * len(values) // columns for i in range(columns + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in itertools.pairwise(edges)]
    logs = [math.log(max(mean, 1e-12)) for mean in means]
    low, high = min(logs), max(logs)
    heights = [round((log - low) / ((high - low) or 1) * (rows - 1)) for log in logs]
    lines = []
    for row in reversed(range(rows)):
        label = f"{math.exp(low + (high - low) * row / (rows - 1)):7.3f}"
        lines.append(f"{label} |" + "".join("*" if height == row else " " for height in heights).rstrip())
    lines.append(f"{'loss':>7} +{'-' * columns}> step")
    return "\n".join(lines)


def save_plot(values: Sequence[float], path: Path) -> None:
    """The curve as a picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    axes.semilogy(range(1, len(values) + 1), values, linewidth=1)
    axes.set(xlabel="step", ylabel="training loss", title="Digits, keyed dropout and shuffling")
    figure.savefig(path, dpi=150)


def table(promises: Iterable[Promise]) -> str:
    """The promises as a table of text."""
    rows = [("promised, to the last bit", "found", "")]
    rows += [(promise.what, promise.found, "ok" if promise.kept else "FAILED") for promise in promises]
    first, second = (max(len(row[i]) for row in rows) for i in (0, 1))
    lines = [f"{what:<{first}}  {found:<{second}}  {verdict}".rstrip() for what, found, verdict in rows]
    return "\n".join([lines[0], "-" * (first + second + 10), *lines[1:]])


NOTES = """\
(a) A compiled model may round in other places than an eager one, so its masks are compared, not its weights.
(b) Only the draws are compiled, or on two threads: the model is eager and on one thread in both trainings."""


# ---- The program ----


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m torch_threefry.demo",
        description="Train a small classifier of digits on keyed random numbers, and check what they promise. "
        "The exit status is 0 if every promise was kept.",
    )
    parser.add_argument("--epochs", type=int, default=15, help="epochs to train (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=42, help="the seed of the key (default: %(default)s)")
    parser.add_argument("--plot", type=Path, metavar="PATH", help="also save the loss as a picture (needs matplotlib)")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, print, and return the exit status."""
    parser = options()
    chosen = parser.parse_args(arguments)
    if chosen.epochs < 1:
        parser.error(f"--epochs must be at least 1, got {chosen.epochs}")
    if chosen.plot and not importlib.util.find_spec("matplotlib"):
        parser.error("--plot needs matplotlib: pip install matplotlib")
    try:
        key = random.key(chosen.seed)
    except OverflowError as error:
        parser.error(f"--seed: {error}")
    with threads(1):  # enough for so small a model; draws that go on two threads say so
        promises = show_training(key, load_digits(), chosen.epochs, chosen.plot)
    return 0 if all(promise.kept for promise in promises) else 1


def show_training(key: Key, digits: Digits, epochs: int, plot: Path | None) -> list[Promise]:
    """Train, print how it went, and print the promises."""
    until = steps_of(digits, epochs)
    print(f"{len(digits.train_x)} digits, {epochs} epochs of {until // epochs} steps, {key}")
    print("Training under torch.compile; the first step compiles, which takes a while.", flush=True)
    training = train(start(key), digits, until, compiled_whole(), Progress("compiled", lines=5))
    print(f"\n{text_plot(training.losses)}\n\ntest accuracy {test_accuracy(training, digits):.1%}\n")
    if plot:
        save_plot(training.losses, plot)
    print("The same training in other ways:")
    promises = check_promises(key, digits, training, partial(Progress, lines=1))
    print(f"\n{table(promises)}\n\n{NOTES}")
    return promises


if __name__ == "__main__":
    sys.exit(main())
