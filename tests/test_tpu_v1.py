"""The first TPU and the six applications that Jouppi et al. (2017) measured on it."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from rooflens import machine
from rooflens.roofline.place import ridge

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "tpu_v1.py"


@pytest.fixture(scope="module")
def script() -> dict[str, object]:
    return runpy.run_path(str(PICTURE))


# regime and share of what its intensity allows: 2 x multiply-adds a byte x 34 GB/s, or 92 TOP/s
PLACED = [
    ("MLP0", "memory", 12.3 / (400 * 0.034)),
    ("MLP1", "memory", 9.7 / (336 * 0.034)),
    ("LSTM0", "memory", 3.7 / (128 * 0.034)),
    ("LSTM1", "below-roof", 2.8 / (192 * 0.034)),
    ("CNN0", "compute", 86.0 / 92),
    ("CNN1", "below-roof", 14.1 / 92),
]


@pytest.mark.parametrize(("name", "regime", "reached"), PLACED)
def test_each_application_lands_where_the_paper_has_it(script, name: str, regime: str, reached: float) -> None:
    (point,) = (p for p in script["points"]() if p.name == name)
    assert (point.regime, point.measured) == (regime, True)
    assert point.share_of_attainable == pytest.approx(reached)
    assert point.share_of_peak < point.share_of_attainable + 1e-12 <= 1


def test_the_ridge_is_at_1350_multiply_adds_a_byte() -> None:
    assert ridge(machine("tpu-v1"), "int8") / 2 == pytest.approx(1350, rel=0.005)


def test_four_of_the_six_are_left_of_the_ridge(script) -> None:
    # the paper's point: recurrent and fully connected networks wait for weights, convolutions do not
    left = {p.name for p in script["points"]() if p.intensity_flops_per_byte < ridge(machine("tpu-v1"), "int8")}
    assert left == {"MLP0", "MLP1", "LSTM0", "LSTM1"}


def test_the_picture_in_the_docs_is_what_the_script_draws(script, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("sys.argv", ["tpu_v1.py", str(tmp_path / "new.svg")])
    script["main"]()
    drawn = (tmp_path / "new.svg").read_text(encoding="utf-8")
    kept = PICTURE.with_suffix(".svg").read_text(encoding="utf-8")
    assert [line for line in drawn.splitlines() if "aria-label" in line] == [
        line for line in kept.splitlines() if "aria-label" in line
    ]
    assert len(drawn) == pytest.approx(len(kept), rel=0.1)  # glyph outlines differ a little between versions
