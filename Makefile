# make demo: build the extension and see what the library promises.
# make test: build it and run the tests.
# make test-cuda: the longer tests of the CUDA kernels. No GPU is needed: they run on the CPU and, where nvcc is, are
# compiled for two GPUs and what they cost is counted.
# make quality: run dieharder over raw streams of every kind, for hours; QUALITY=--reduced makes it one hour, and
# QUALITY=--help lists more options.
# All make .venv first if there is none.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-cuda quality build bench clean

demo: build
	$(BIN)/python -m torch_threefry.demo

test: build
	$(BIN)/python -m pytest -q -m "not slow" -n auto --dist loadfile

test-cuda: build
	$(BIN)/python -m pytest -q -m slow

quality: build
	$(BIN)/python -m tests.quality.battery $(QUALITY)

build: $(VENV)/installed
	$(BIN)/python setup.py --quiet build_ext --inplace

# Ours against torch and numpy, as ratios in one run.
bench: build
	$(BIN)/python -m benchmarks.speed --targets

$(VENV)/installed: requirements-dev.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

clean:
	rm -rf build torch_threefry/*.so torch_threefry.egg-info
