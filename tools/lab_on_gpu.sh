#!/bin/sh
# One lab on a GPU box without installing anything: tools/lab_on_gpu.sh OUT SECONDS [lab options]
# Leaves OUT/lab.tgz, the report and the progress with a time on every line, whatever happens.
out=$1 seconds=$2
shift 2
export PYTHONPATH="$PWD/src:$PYTHONPATH" PYTHONUNBUFFERED=1 NO_COLOR=1
mkdir -p "$out"
{
    timeout -s INT "$seconds" python3 -m rooflens lab --device cuda:0 --compare experiments/cpu-example --out "$out/lab" "$@" >"$out/report.txt"
    echo "exit $?" >>"$out/report.txt"
} 2>&1 | while read -r line; do echo "$(date +%T) $line"; done >"$out/progress.txt"
tar czf "$out/lab.tgz" -C "$out" lab && rm -r "$out/lab"
