"""The sum of the weights in the rows is the parameter count of the checkpoint, for every model that ships.

tests/data/model_counts.csv: parameters as the classes of transformers hold them (a tied embedding once, no buffers, no
multi-token-prediction layers, the text part of a multimodal model), cache bytes a token and state bytes a sequence in
16 bit, states in fp32.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from rooflens import models, workload
from rooflens.dtypes import dtype
from rooflens.models import Choices

LINES = (Path(__file__).parent / "data/model_counts.csv").read_text().splitlines()
COUNTS = {row["name"]: row for row in csv.DictReader(LINES)}
BF16 = workload.precision(dtype("bf16"))


def test_every_model_that_ships_has_its_counts_written_down() -> None:
    assert set(models.known()) == set(COUNTS)


@pytest.mark.parametrize("name", COUNTS)
def test_parameters_cache_and_state_are_exact(name: str) -> None:
    found, want = models.facts(models.named(name), BF16), {k: v for k, v in COUNTS[name].items() if k != "name"}
    assert {
        "params_total": found.params_total,
        "params_active": found.params_active,
        "layers": found.layers,
        "kv_bytes": found.kv_bytes_per_token,
        "kv_bytes_growing": found.kv_bytes_per_token_growing,
        "state_bytes": found.state_bytes_per_sequence,
    } == {key: int(value) for key, value in want.items()}


@pytest.mark.parametrize("name", COUNTS)
def test_no_key_of_a_real_config_goes_unread(name: str) -> None:
    assert [w for w in models.named(name).warnings if "is not read" in w] == []


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize(
    "choices",
    [
        Choices("unfused", fused=False),
        Choices("fused-softmax", mla="expanded", scan="chunks", links=True),
        Choices(fused=False, mla="expanded"),
        Choices("unfused", scan="chunks"),
    ],
)
def test_no_choice_of_the_builder_changes_a_parameter_or_a_cached_byte(name: str, choices: Choices) -> None:
    plain, other = (models.facts(models.named(name, of), BF16) for of in (Choices(), choices))
    assert other == plain


def test_bytes_that_an_engine_with_uniform_pages_allocates() -> None:
    """Every caching layer as the largest, nothing freed: gpt-oss 36 layers of 2 x 8 x 64, Gemma 4 30 of 2 x 8 x 256."""
    allocated = {name: models.named(name).kv_elements_allocated() for name in ("gpt-oss-120b", "gemma-4-26b-a4b")}
    assert allocated == {"gpt-oss-120b": 36 * 2 * 8 * 64, "gemma-4-26b-a4b": 30 * 2 * 8 * 256}


def test_gemma_4_has_the_parameters_that_its_published_files_hold() -> None:
    """Each router has a scale of its input and one of each expert, and each layer seven norms.

    A count by hand without both scales and with six norms is 30 x (2816 + 128 + 2816) = 172,800 lower, and wrong.
    The index of the files says 25,805,933,872, its class's vision tower and projector included; a GGUF of the text part
    holds 25,233,142,046, with a scalar a layer and 256 factors of rotary positions, which are no parameters.
    """
    text = models.named("gemma-4-26b-a4b").params_total
    tower, projector = 569_548_080, 3_244_032
    assert text + tower + projector == 25_805_933_872
    assert text + 30 + 256 == 25_233_142_046
    assert text - 30 * (2816 + 128 + 2816) == 25_232_968_960


@pytest.mark.parametrize(
    ("name", "streamed"),
    [
        ("llama-2-7b", 6_738_415_616 - 32_000 * 4096),  # the embedding's rows are looked up
        ("qwen2.5-0.5b", 494_032_768),  # tied: the head streams what the embedding stores
        ("mixtral-8x7b", 12_748_853_248),  # two of eight experts
        ("deepseek-v3", 36_625_603_584),
    ],
)
def test_parameters_that_a_step_of_one_token_streams(name: str, streamed: int) -> None:
    assert models.named(name).params_streamed == streamed


def test_facts_of_a_quantised_model_count_its_scales_and_keep_wide_what_is_wide() -> None:
    model = models.named("llama-3.1-8b-nvfp4")
    found = models.facts(model, workload.precision(dtype("bf16"), stored=model.stored))
    head_and_embedding = 2 * 128_256 * 4096
    norms = 65 * 4096
    narrow = 8_030_261_248 - head_and_embedding - norms
    scalars = 32 * (7 * 2 + 2) * 4  # two of each matrix, and those of keys and of values, in fp32
    assert found.weight_bytes == 2 * (head_and_embedding + norms) + narrow * 4.5 / 8 + scalars
    assert (found.kv_format, found.kv_bytes_per_token) == ("fp8", 65_536)


def test_what_is_special_and_what_is_left_out_is_said() -> None:
    found = models.facts(models.named("gemma-4-26b-a4b"), BF16)
    assert found.layers_by_kind == {"local attention": 25, "attention": 5, "ffn and experts": 30}
    assert "25 layers reach back over a window of 1024 positions" in found.special
    assert found.not_modelled == ("vision part (gemma4_vision): left out, the text part alone is counted",)
    assert "multi-token-prediction" in models.named("deepseek-v3").not_modelled[0]


@pytest.mark.parametrize(
    ("name", "context", "bytes_held"),
    [
        ("llama-2-7b", 4096, 2 << 30),
        ("gemma-3-1b", 32_768, 4 * 1024 * 32_768 + 22 * 1024 * 512),
        ("gemma-4-26b-a4b", 4096, 5 * 4096 * 4096 + 25 * 8192 * 1024),
        ("gpt-oss-20b", 8192, 12 * 2048 * (8192 + 128)),
        ("mistral-7b-v0.1", 100_000, 131_072 * 4096),
        ("llama-4-scout-17b-16e", 10_000, 12 * 4096 * 10_000 + 36 * 4096 * 8192),
        ("mamba2-codestral-7b", 10_000, 0),
    ],
)
def test_bytes_that_a_sequence_holds(name: str, context: int, bytes_held: int) -> None:
    assert 2 * models.named(name).kv_elements(context) == bytes_held


def test_flops_of_a_token_count_the_experts_that_it_visits() -> None:
    """Two of eight: 2 x 12.75e9 of those streamed, without attention."""
    mixtral = models.named("mixtral-8x7b")
    operators = workload.operators(mixtral, workload.decode(1, 1), BF16)
    flops = sum(o.cost.total_flops * o.count for o in operators if o.name != "attention")
    norms = 65 * 4096
    assert flops == 2 * (mixtral.params_streamed - norms)
