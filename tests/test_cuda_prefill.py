"""Prefill attention in blocks, its cuts and strides followed on a made-up card whose arrays are numpy's."""

from __future__ import annotations

import math
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens.measure.backend import AttentionShape, Cannot
from rooflens.measure.backends import cuda_prefill
from rooflens.measure.backends.cuda_prefill import blocks, pieces, prefill


class NumpyCard:
    """Runs at once what a card would be given."""

    cp = np
    stream = SimpleNamespace(ptr=0)

    def here(self):
        return nullcontext()

    def graph(self, run, times=1):
        return run

    def kernel(self, file, name):
        assert (file, name.partition("<")[0]) == ("prefill.cu", "causal_softmax")
        return causal_softmax


def causal_softmax(grid, block, arguments):
    """As cu/prefill.cu says it."""
    scores, keys, first, rows, factor = arguments
    for row in range(grid[0]):
        values = scores[row * keys : (row + 1) * keys]
        seen = first + row % rows + 1
        weights = np.exp2((values[:seen].astype("float64") - values[:seen].max()) * factor)
        values[:seen] = weights / weights.sum()
        values[seen:] = 0


class NumpyPlan:
    """A batch of products with the strides that cuBLASLt would be told."""

    def __init__(self, lt, math_of, form, shape, batch):
        self.form, self.shape, self.batch = form, shape, batch

    def algorithms(self):
        return [("the only one", None)]

    def run(self, algorithm, a, b, c, stream):
        m, n, k = self.shape
        a, b, c = (x.reshape(-1) for x in (a, b, c))
        assert all(np.shares_memory(x, x.base) for x in (a, b, c) if x.base is not None)
        for i in range(self.batch.count):
            first = a[i * self.batch.a :][: m * k].reshape(m, k).astype("float64")
            second = b[i * self.batch.b :][: n * k].astype("float64")
            second = second.reshape(n, k).T if self.form == "A B^T" else second.reshape(k, n)
            c[i * self.batch.c :][: m * n] = (first @ second).reshape(-1)


@pytest.fixture
def ways(monkeypatch):
    monkeypatch.setattr(cuda_prefill, "Plan", NumpyPlan)
    monkeypatch.setattr(cuda_prefill, "why_not", lambda: "")
    monkeypatch.setattr(cuda_prefill, "QUERIES", (16, 40))
    monkeypatch.setattr(cuda_prefill, "CACHES", (2, 64))
    shape = AttentionShape(layers=1, width=96, heads=6, kv_heads=3, tokens=96)
    return prefill(NumpyCard(), lambda: None, "fp32", shape, 3)


def test_every_cut_of_a_prompt_gives_the_attention_of_the_whole(ways):
    assert [kernel.unit for kernel in ways] == [
        "naive",
        "blocked, 16 queries of 2 caches", "blocked, 16 queries of 3 caches",
        "blocked, 40 queries of 2 caches", "blocked, 40 queries of 3 caches",
    ]  # fmt: skip
    for kernel in ways:
        kernel.run()
        assert kernel.error() <= kernel.tolerance, kernel.unit


def test_a_cut_counts_its_launches_and_all_cuts_are_one_way(ways):
    assert {kernel.way for kernel in ways[1:]} == {"blocked, graph"}
    # 6 blocks of 16 queries, 3 caches two at a time, three launches each
    assert ways[1].calls == 3 * 6 * 2
    assert ways[4].calls == 3 * 3 * 1


@given(st.integers(1, 5000), st.integers(1, 1024))
def test_blocks_cover_every_token_once(tokens, queries):
    found = blocks(tokens, queries)
    assert [token for first, end in found for token in range(first, end)] == list(range(tokens))
    assert all(end - first <= queries for first, end in found)


@given(st.integers(1, 32768), st.sampled_from(("fp32", "fp16")))
def test_the_threads_of_a_block_hold_a_whole_row(tokens, dtype):
    size = {"fp32": 4, "fp16": 2}[dtype]
    assert (pieces(tokens, dtype) - 1) * 256 * 16 < tokens * size <= pieces(tokens, dtype) * 256 * 16


def test_scores_that_do_not_fit_and_formats_without_a_form_are_sentences():
    card = NumpyCard()
    with pytest.raises(Cannot, match=r"its scores take 34\.4 GB"):
        prefill(card, lambda: None, "fp16", AttentionShape(1, 4096, 32, tokens=2**14, batch=2), 0)
    with pytest.raises(Cannot, match="prefill attention int8 skipped"):
        prefill(card, lambda: None, "int8", AttentionShape(tokens=64), 0)


def test_without_the_library_only_the_naive_form_is_left(monkeypatch):
    monkeypatch.setattr(cuda_prefill, "why_not", lambda: "nvmath-python is not installed")
    found = prefill(NumpyCard(), lambda: None, "fp32", AttentionShape(1, 32, 2, tokens=32), 0)
    assert [kernel.unit for kernel in found] == ["naive"]
    assert math.isfinite(found[0].error())
