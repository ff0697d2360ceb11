#!/bin/sh
# The tests that need a card, without installing anything: tools/test_on_gpu.sh OUT SECONDS [options for pytest]
# Leaves OUT/tests.txt whatever happens. Needs pytest, hypothesis and the packages of the `nvidia` extra.
out=$1 seconds=$2
shift 2
export PYTHONPATH="$PWD/src:$PYTHONPATH" PYTHONUNBUFFERED=1 NO_COLOR=1
mkdir -p "$out"
timeout -s INT "$seconds" python3 -m pytest -m gpu -W default -p no:cacheprovider --maxfail=20 --durations=15 -ra \
    tests/test_on_gpu.py tests/test_backends.py "$@" >"$out/tests.txt" 2>&1
echo "exit $?" >>"$out/tests.txt"
tail -n 60 "$out/tests.txt"
