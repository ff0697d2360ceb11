"""Step floors worked out by hand: sums over kernels of the largest demand over rate, without activations or launches.

H100 SXM: 989.4 TFLOP/s bf16, 1978.9 fp8, 3.35 TB/s, 450 GB/s each way; H200: 4.8 TB/s. Tolerance 0.5 % unless said.
"""

from __future__ import annotations

import pytest

from rooflens import catalogue, models, workload
from rooflens.dtypes import dtype
from rooflens.models import Choices, Model
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.machines import from_accelerator
from rooflens.roofline.math import resolve
from rooflens.roofline.price import StepPrice, price_step
from rooflens.workload import Step

H100 = from_accelerator(catalogue.accelerator("h100-sxm5-80gb"))
H200 = from_accelerator(catalogue.accelerator("h200-sxm-141gb"))
LLAMA_8B = models.named("llama-3.1-8b")


def floor(model: Model, step: Step, on: Machine, weights: str = "bf16", kv: str | None = None) -> StepPrice:
    precision, _ = resolve(workload.precision(dtype("bf16"), weights, kv), on)
    return price_step(workload.operators(model, step, precision), on, activations=False)


def without_links(price: StepPrice) -> float:
    return sum(k.count * k.time_s for k in price.kernels if "link" not in k.times_s)


@pytest.mark.parametrize(("batch", "milliseconds"), [(1, 4.56), (16, 5.76), (64, 9.61), (256, 24.99)])
def test_f1_f2_llama_8b_decode(batch: int, milliseconds: float) -> None:
    price = floor(LLAMA_8B, workload.decode(batch, 2048), H100)
    assert price.floor_s == pytest.approx(milliseconds / 1e3, rel=5e-3)
    assert price.bound == "memory"


@pytest.mark.parametrize(("kv", "milliseconds"), [("bf16", 5.84), ("fp8", 4.24)])
def test_f3_llama_70b_in_fp8_on_eight(kv: str, milliseconds: float) -> None:
    model = models.named("llama-3.1-70b", Choices(links=True))
    price = floor(model, workload.decode(64, 4096, tp=8), H100, "fp8", kv)
    links = [k for k in price.kernels if "link" in k.times_s]
    assert without_links(price) == pytest.approx(milliseconds / 1e3, rel=5e-3)
    assert sum(k.count for k in links) == 160
    assert sum(k.count * k.time_s for k in links) == pytest.approx(0.65e-3, rel=5e-3)


@pytest.mark.parametrize(("batch", "milliseconds", "touched"), [(1, 1.25, 8), (64, 19.3, 222), (256, 33.0, 256)])
def test_f4_deepseek_v3_in_fp8_on_eight(batch: int, milliseconds: float, touched: int) -> None:
    """TP attention, EP experts, latent cache, q_a and kv_a on every rank, router and head in bf16: within 1 %."""
    model = models.named("deepseek-v3", Choices(links=True))
    step = workload.decode(batch, 4096, tp=8, ep=8)
    (experts,) = (block for block in model.blocks if block.kind == "experts")
    assert 8 * workload.letters(model, step, experts)["X"] == pytest.approx(touched, abs=0.5)
    assert without_links(floor(model, step, H200, "fp8")) == pytest.approx(milliseconds / 1e3, rel=1e-2)


def test_f5_llama_8b_prefill() -> None:
    price = floor(LLAMA_8B, workload.prefill(1, 2048), H100)
    head = next(k for k in price.kernels if k.name == "lm_head")
    assert price.floor_overlapped_s == pytest.approx(30.0e-3, rel=5e-3)
    assert 30.3e-3 <= price.floor_s <= 30.5e-3
    assert (head.bound, head.time_s) == ("memory", pytest.approx(0.31e-3, rel=2e-2))
    full = floor(LLAMA_8B, workload.prefill(1, 2048, mask="full"), H100)
    assert full.floor_overlapped_s == pytest.approx(31.1e-3, rel=5e-3)


def test_faults_of_others_on_f1_are_not_repeated() -> None:
    """KV once and of key-value heads; GB are not GiB; the step never gets quicker when the batch grows."""
    times = [floor(LLAMA_8B, workload.decode(batch, 2048), H100).floor_s for batch in range(1, 80)]
    assert times == sorted(times)
    assert times[63] < 9.7e-3  # charged twice: 14.86 ms; with query heads: 25.3 ms
    assert times[0] > 4.5e-3  # GB taken as GiB: 4.25 ms


def test_latents_are_expanded_for_a_prompt_and_absorbed_for_a_token() -> None:
    absorbed = models.named("deepseek-v3")
    expanded = workload.suited(absorbed, "prefill")
    one, prompt = workload.decode(1, 4096), workload.prefill(1, 4096)
    assert floor(absorbed, one, H200, "fp8").floor_s < floor(expanded, one, H200, "fp8").floor_s
    assert floor(expanded, prompt, H200, "fp8").floor_s < floor(absorbed, prompt, H200, "fp8").floor_s


def test_scans_run_in_chunks_for_a_prompt_and_step_by_step_for_a_token() -> None:
    steps = models.named("mamba2-codestral-7b")
    chunks = workload.suited(steps, "prefill")
    assert chunks.choices.scan == "chunks"
    prompt = workload.prefill(1, 8192)
    assert floor(chunks, prompt, H100).floor_s < floor(steps, prompt, H100).floor_s
    one = [floor(model, workload.decode(64, 8192), H100).floor_s for model in (steps, chunks)]
    assert one[0] == pytest.approx(one[1], rel=1e-9)  # a token at a time, the state's bytes are all there is


def test_suited_changes_nothing_where_there_is_nothing_to_choose() -> None:
    assert workload.suited(LLAMA_8B, "prefill") is LLAMA_8B
