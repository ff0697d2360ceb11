"""What `rooflens watch` says of a real vLLM, beside what its clients counted: tokens, steps, bytes, MBU.

    python -m benchmarks.real_vllm http://127.0.0.1:8811 --model config.json --on profile.json --record run.jsonl

The server is yours to start, with random weights if you like: a Llama with tied embeddings, `--load-format dummy
--skip-tokenizer-init --enable-mfu-metrics --served-model-name smol`. Nothing else may ask it meanwhile. What clients
derive shares no code with rooflens: token counts of their answers, their own clock, sizes from the config.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
import urllib.request
from pathlib import Path

from rooflens.api import machine
from rooflens.api.live import Judge, target
from rooflens.live.cycles import Targets
from rooflens.live.fetch import Access
from rooflens.live.fetch import target as metrics_of
from rooflens.live.recording import append

PROMPT, OUTPUT, WORKERS, EACH = 128, 64, 8, 3
NEAR_MBU, NEAR_OWN, NEAR_STEPS = 0.03, 0.10, 0.03


def asked(url: str, name: str) -> dict[str, int]:
    """One request of random tokens; what the server counted for it."""
    body = {
        "model": name, "prompt": [random.randrange(5, 49_000) for _ in range(PROMPT)], "max_tokens": OUTPUT,
        "ignore_eos": True, "detokenize": False,
    }  # fmt: skip
    request = urllib.request.Request(  # noqa: S310 - a server of one's own
        f"{url}/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=600) as answer:  # noqa: S310
        return json.load(answer)["usage"]


def load(url: str, name: str) -> tuple[list[dict[str, int]], float]:
    """WORKERS clients side by side, EACH requests one after another; what they counted, and how long it took."""
    found: list[dict[str, int]] = []

    def work() -> None:
        found.extend(asked(url, name) for _ in range(EACH))

    began = time.monotonic()
    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found, time.monotonic() - began


def derived(config: dict[str, int], usages: list[dict[str, int]]) -> dict[str, float]:
    """Steps and bytes by the clients' own counts: all WORKERS sequences advance together."""
    D, F, L, V = (config[k] for k in ("hidden_size", "intermediate_size", "num_hidden_layers", "vocab_size"))
    kv = D * config["num_key_value_heads"] // config["num_attention_heads"]
    weight_bytes = 2 * (V * D + D + L * (2 * D * D + 2 * D * kv + 3 * D * F + 2 * D))
    prompts, outputs = (sum(one[f"{kind}_tokens"] for one in usages) for kind in ("prompt", "completion"))
    steps = outputs / WORKERS
    read = sum(one["prompt_tokens"] + k for one in usages for k in range(1, one["completion_tokens"]))
    return {
        "prompt tokens": prompts, "generated tokens": outputs, "steps": steps, "weight bytes a step": weight_bytes,
        "bytes": steps * weight_bytes + read * L * 2 * kv * 2,
    }  # fmt: skip


def main() -> int:
    """Loads the server between two scrapes and prints both accounts; 1 when they lie apart."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("url")
    options.add_argument("--model", required=True)
    options.add_argument("--on", required=True)
    options.add_argument("--math", help="what a machine without 16 bit arithmetic computes in")
    options.add_argument("--name", default="smol")
    options.add_argument("--record", type=Path)
    said = options.parse_args()
    judge = Judge(said.model, said.on, **({"math": said.math} if said.math else {}))
    keep = (lambda page: append(said.record, page)) if said.record else (lambda page: None)
    targets = Targets([metrics_of(said.url)], Access(), keep)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        targets.cycle(pool)
        usages, wall_s = load(said.url, said.name)
        (seen,) = targets.cycle(pool).seen
    (reading,) = target(seen, judge).models
    rates, roof = reading.rates, reading.roof
    if roof is None or rates.interval_s is None:
        print(seen.failed, reading.missing, rates.notes)
        return 1
    theirs = derived(json.loads(Path(said.model).read_text(encoding="utf-8")), usages)
    read_roof = machine(said.on).memory("read").floor_value
    ours = {
        "prompt tokens": (rates.prompt_tokens_per_s or 0.0) * rates.interval_s,
        "generated tokens": (rates.generation_tokens_per_s or 0.0) * rates.interval_s,
        "steps": (rates.steps_per_s or 0.0) * rates.interval_s,
        "weight bytes a step": roof.step_weight_bytes or 0.0,
        "MBU": roof.mbu or 0.0,
    }
    theirs["MBU"] = theirs["bytes"] / wall_s / read_roof
    near = {"prompt tokens": 1e-9, "generated tokens": 1e-9, "weight bytes a step": 1e-9, "steps": NEAR_STEPS}
    apart = 0
    for name, value in ours.items():
        off = value / theirs[name] - 1
        apart += abs(off) > near.get(name, NEAR_MBU)
        print(f"{name:22s} watch {value:16.6g}   clients {theirs[name]:16.6g}   {100 * off:+.2f} %")
    if roof.estimated_over_ours is not None:
        print(f"vLLM's own bytes read over ours: {roof.estimated_over_ours:.4f}")
        apart += abs(roof.estimated_over_ours - 1) > NEAR_OWN
    print(f"MBU while decoding {roof.mbu_decoding}, MFU {roof.mfu}, TPOT {rates.tpot_s}, floor {roof.tpot_floor_s}")
    return int(apart > 0)


if __name__ == "__main__":
    sys.exit(main())
