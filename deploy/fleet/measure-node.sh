#!/bin/sh
# One node measured into a folder that all nodes share: DIR/NODE.json, or DIR/NODE.absent.json with the reason why not.
#
#   sh measure-node.sh DIR [options of rooflens measure]
#
# Whatever starts a program on every node can start it: srun, mpirun, torchrun, a Kubernetes job. What is in DIR is not
# measured again. Several tasks of one node measure it once: they wait for each other.
#
#   NODE      name of the node (srun's, else the host's)     LIMIT_S   how long it may take (3600)
#   ROOFLENS  the program (rooflens)
set -eu

folder=${1:?name a folder that all nodes share}
shift
node=${NODE:-${SLURMD_NODENAME:-$(hostname)}}
limit=${LIMIT_S:-3600}
file=$folder/$node.json
absent=$folder/$node.absent.json
if [ -n "${TORCHELASTIC_RUN_ID:-}" ] && [ "${LOCAL_WORLD_SIZE:-1}" -gt 1 ] && [ "${OMP_NUM_THREADS:-}" = 1 ]; then
  unset OMP_NUM_THREADS # torchrun's own, for several tasks of a node: measuring sets its threads itself
fi

# A file is there whole or not at all. $1: state; $2: why.
miss() {
  why=$(printf '%s' "$2" | tr -d '"\\' | tr '\000-\037' ' ' | cut -c 1-300)
  printf '{"schema": "rooflens/absent/1", "node": "%s", "state": "%s", "why": "%s"}\n' "$node" "$1" "$why" >"$said.json"
  cp "$said.json" "$absent.$$" && mv "$absent.$$" "$absent"
  echo "$node: $1: $why" >&2
}

mkdir -p "$folder"
if [ -s "$file" ]; then
  echo "$file is there: $node is not measured again" >&2
  exit 0
fi
said=$(mktemp)
trap 'rm -f "$said" "$said.json"' EXIT
code=0
began=$(date +%s)
timeout -k 10 "$limit" "${ROOFLENS:-rooflens}" measure --all-devices --wait-s "$limit" -o "$file" "$@" \
  >/dev/null 2>"$said" || code=$?
cat "$said" >&2
last=$(tail -n 1 "$said" | sed 's/^ *//')
late=$(($(date +%s) - began >= limit))
case $code/$late in
  0/*) rm -f "$absent" ;;
  2/*) miss refused "${last#rooflens: }" ;;
  124/* | 137/1) miss hung "no answer within $limit s; the last it said: $last" ;;
  *) miss died "the measurement ended with exit code $code; the last it said: $last" ;;
esac
