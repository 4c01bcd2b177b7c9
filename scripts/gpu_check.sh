#!/usr/bin/env bash
# Builds for this machine's GPU, runs the tests that need one and the benchmark, and prints a short table last:
#
#   scripts/gpu_check.sh [flags of benchmarks.cuda, such as --jax]
#
# Nothing is installed or downloaded. PYTHON (python3) must have a torch with CUDA, setuptools and, for the tests, pytest
# and numpy; nvcc must be on the PATH or below CUDA_HOME. The logs, the tables and the numbers go to the folder OUT
# (benchmarks/results). All of it ends within LIMIT seconds (350). A step that fails does not keep the next from running,
# but the script then fails in the end.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}
OUT=${OUT:-benchmarks/results}
LIMIT=${LIMIT:-350}
export PATH="$PATH:${CUDA_HOME:-/usr/local/cuda}/bin"
export PYTHONUNBUFFERED=1

mkdir -p "$OUT"
rm -f "$OUT"/{gpu.txt,build.log,pytest.log,benchmark.md,benchmark.log,benchmark.json,summary.md}
table=("| step | outcome | seconds |" "|---|---|---|")
failures=0

# record STEP OUTCOME SECONDS
record() {
  table+=("| $1 | $2 | $3 |")
  echo "$1: $2"
}

# run_step STEP SHARE OUTPUT ERRORS COMMAND...: the command with at most SHARE percent of LIMIT, and what is left of it. Sets
# the variables outcome and took, and fails if the command does.
run_step() {
  local share=$2 output=$3 errors=$4 start=$SECONDS status=0
  local most=$((LIMIT * share / 100)) left=$((LIMIT - SECONDS))
  echo "$1..."
  shift 4
  outcome=ok took=0
  if ((left < 5)); then
    outcome="not run: no time left"
    return 1
  fi
  timeout --kill-after=5 "$((most < left ? most : left))" "$@" >>"$output" 2>>"$errors" || status=$?
  took=$((SECONDS - start))
  case $status in
    0) return 0 ;;
    124 | 137) outcome="out of time" ;;
    *) outcome="failed ($status)" ;;
  esac
  tail -n 25 "$errors"
  return 1
}

# ---- What is there ----

{
  "$PYTHON" -c 'import sys, torch; print("Python", sys.version, "\ntorch", torch.__version__, "CUDA", torch.version.cuda)'
  nvcc --version
  nvidia-smi -q -d MEMORY,CLOCK,POWER,TEMPERATURE,PERFORMANCE
} >"$OUT/gpu.txt" 2>&1 || true

if ! capability=$("$PYTHON" -c 'import torch; print("%d.%d" % torch.cuda.get_device_capability())' 2>"$OUT/build.log"); then
  tail -n 1 "$OUT/build.log"
  echo "gpu_check: $PYTHON has no torch that sees a CUDA device" >&2
  exit 1
fi

missing=$("$PYTHON" -c '
from importlib.util import find_spec
print(*(name for name in ("pytest", "numpy", "scipy") if find_spec(name) is None))')
[[ -z $missing ]] || record "Python packages" "missing: $missing" 0

# ---- Build ----

run_step build 55 "$OUT/build.log" "$OUT/build.log" \
  env TORCH_THREEFRY_CUDA=1 TORCH_CUDA_ARCH_LIST="$capability" "$PYTHON" setup.py build_ext --inplace --parallel 2 ||
  failures=$((failures + 1))
record "build for $capability" "$outcome" "$took"

# ---- Tests ----

if [[ " $missing " == *" pytest "* ]]; then
  failures=$((failures + 1))
  record tests "not run: there is no pytest" 0
else
  run_step tests 32 "$OUT/pytest.log" "$OUT/pytest.log" \
    "$PYTHON" -m pytest -v -rfE --tb=short --durations=10 --maxfail=50 -o faulthandler_timeout=60 -p no:cacheprovider \
    tests/cuda ||
    failures=$((failures + 1))
  if [[ $outcome != not* && -s $OUT/pytest.log ]]; then
    last=$(tail -n 1 "$OUT/pytest.log" | tr -d =)
    if [[ $outcome == ok && $last != *" passed"* ]]; then
      failures=$((failures + 1))
      outcome="nothing was tested"
    fi
    outcome="$outcome: $last"
  fi
  record tests "$outcome" "$took"
fi

# ---- Benchmark ----

run_step benchmark 100 "$OUT/benchmark.md" "$OUT/benchmark.log" \
  "$PYTHON" -m benchmarks.cuda --targets --json "$OUT/benchmark.json" "$@" ||
  failures=$((failures + 1))
record benchmark "$outcome" "$took"

# ---- Summary ----

{
  echo
  sed '/^$/,$d' "$OUT/benchmark.md" || true
  echo
  printf '%s\n' "${table[@]}"
  echo
  sed -n '/^| target/,$p' "$OUT/benchmark.md" || true
  echo
  echo "All of it is in $OUT."
} 2>/dev/null | tee "$OUT/summary.md"

((failures == 0)) || exit 1
