"""The picture of a profiled run: kernels as areas under the roofs, the run as a bar, and no text on another."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from matplotlib.markers import MarkerStyle
from plot_scenes import A100, CPU, gpu, outside, overlaps

from rooflens.accounting.record import Account, Attribution, Judged, OnDevice
from rooflens.errors import RooflensError
from rooflens.present import strip
from rooflens.present.canvas import HEIGHT, WIDTH, Canvas
from rooflens.present.plan import MARGIN
from rooflens.present.plot import render, text_boxes
from rooflens.present.sized import LEAST_SHARE, WHOLE, extent, side
from rooflens.present.spent import LABELLED, NAME, dots, draw, short
from rooflens.present.words import LANGUAGES
from rooflens.records import replace
from rooflens.roofline.ceilings import Machine

PEAK, SLOPE = 312e12, 2e12  # of A100 in plot_scenes: bf16, main memory
RUN = Attribution(3e-3, 2e-3, 1e-3, 2e-3, launch=1.5e-3, host_idle=2e-3, unseen_idle=0.5e-3, copies=1e-3)


def kernel(name: str, time_s: float, intensity: float, of_roof: float, *, whole_s: float = 1e-2, dtype: str = "bf16"):
    floor_s = of_roof * time_s
    flops = min(PEAK, SLOPE * intensity) * floor_s
    return Judged(
        name, 1, time_s, time_s / whole_s, "counted", "counted", flops=flops, bytes=flops / intensity, dtype=dtype,
        roof="memory/main", floor_s=floor_s, share_of_roof=of_roof,
    )  # fmt: skip


def mute(name: str, time_s: float, whole_s: float = 1e-2):
    return Judged(name, 1, time_s, time_s / whole_s, "unknown", "unknown")


def fill(name: str, time_s: float):
    moved = SLOPE * time_s / 2
    return Judged(name, 1, time_s, time_s / 1e-2, "counted", "counted", flops=0.0, bytes=moved, floor_s=time_s / 2)


def account(kernels, attribution=RUN, **more):
    more = {"where": "a/run.json", "format": "torch-trace", "machine": A100.title, "bound": "memory"} | more
    time_s = math.fsum(one.time_s for one in kernels)
    return Account(
        kernels=tuple(kernels), attribution_s=attribution, time_s=time_s, known_share=1, conventions={}, **more
    )


def many(count: int, seed: int = 1):
    dice = random.Random(seed)
    weights = [dice.paretovariate(0.7) for _ in range(count)]
    dtypes = [dice.choice(("bf16", "fp32", "tf32", "int8")) for _ in weights]
    return [
        kernel(
            f"void some::kernel_{i}<float, {i}>(int)", 1e-2 * weight / sum(weights), 10 ** dice.uniform(-1.5, 3.5),
            10 ** dice.uniform(-2.5, 0), dtype=dtype,
        )
        for i, (weight, dtype) in enumerate(zip(weights, dtypes, strict=True))
    ]  # fmt: skip


EVERY = {
    "one kernel": [kernel("gemm", 1e-2, 400, 0.8)],
    "two hundred": many(200),
    "nothing known": [mute(f"k{i}", 3e-3) for i in range(3)],
    "only copies": [fill("fill", 1e-2)],
    "no kernel": [],
    "no time": [replace(kernel("gemm", 1e-2, 400, 0.8), time_s=0.0, share_of_time=0.0)],
    "long names": [kernel(f"void {'name' * 75}{i}<{'T, ' * 50}>", 1e-3, 10 ** (i / 2 - 1), 0.6) for i in range(9)],
    "above its roof": [kernel("gemm", 5e-3, 4000, 1.06), kernel("copy", 5e-3, 1, 1.3)],
    "one on another": [kernel(f"same{i}", 1e-3, 1.0, 0.5) for i in range(10)],
    "far away": [kernel("deep", 5e-3, 1e-6, 1e-7), kernel("gemm", 5e-3, 400, 0.8)],
}


def texts(figure):
    return [text for text, _ in text_boxes(figure)]


def read(figure):
    """All texts from top to bottom, the lines of one joined."""
    boxes = sorted(text_boxes(figure), key=lambda one: (-round(one[1].middle[1]), one[1].x0))
    return " ".join(" ".join(text for text, _ in boxes).split())


def assert_clean(figure):
    boxes = text_boxes(figure)
    assert list(overlaps(boxes)) == []
    assert outside(boxes, WIDTH, HEIGHT) == []


def markers(figure):
    """(intensity, shape, side in pixels) of every marker of a kernel."""
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 1 and line.get_alpha() is not None]
    return [(line.get_xdata()[0], line.get_marker(), line.get_markersize() / 72 * figure.dpi) for line in lines]


def area(shape: str) -> float:
    """Of a marker of side 1, by the shoelace formula."""
    style = MarkerStyle(shape)
    ((x, y),) = (polygon.T for polygon in style.get_path().transformed(style.get_transform()).to_polygons())
    return abs(np.dot(x[:-1], y[1:]) - np.dot(x[1:], y[:-1])) / 2


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("kernels", EVERY.values(), ids=EVERY)
def test_every_text_stands_free(kernels, lang):
    assert_clean(draw(account(kernels), A100, lang))


@pytest.mark.parametrize("machine", [CPU, gpu(), Machine("slope", "A slope", CPU.ceilings[5:6])], ids=lambda m: m.name)
def test_every_text_stands_free_on_other_machines(machine):
    assert_clean(draw(account(many(30)), machine))


@pytest.mark.parametrize("shape", "osD^vphXP")
def test_a_marker_of_any_shape_has_the_area_of_its_share(shape):
    assert area(shape) * side(0.3, shape) ** 2 == pytest.approx(0.3 * math.pi / 4 * WHOLE**2, rel=2e-3)
    assert side(0.3, shape) <= extent(0.3, shape) <= math.sqrt(2) * side(0.3, shape)


def test_areas_of_markers_are_as_times():
    kernels = [kernel("a", 6e-3, 0.3, 0.5), kernel("b", 3e-3, 30, 0.5, dtype="fp32"), kernel("c", 1e-3, 300, 0.5)]
    drawn = sorted(markers(draw(account(kernels), A100)))  # from low intensities to high
    first, second, third = (area(shape) * pixels**2 for _, shape, pixels in drawn)
    assert first / third == pytest.approx(6, rel=5e-3)
    assert second / third == pytest.approx(3, rel=5e-3)


def test_a_kernel_under_the_least_share_is_a_dot_and_that_is_said():
    figure = draw(account([kernel("a", 9.999e-3, 1, 0.5), kernel("b", 1e-6, 100, 0.5)]), A100)
    sides = {round(x): pixels for x, _, pixels in markers(figure)}
    assert sides[100] == pytest.approx(side(LEAST_SHARE, "s"))
    assert "dots: under 0.44 % of the kernels' time" in read(figure)


def test_calls_of_one_name_and_dtype_are_one_point():
    fast, slow = kernel("a", 1e-3, 1.0, 0.9), kernel("a", 3e-3, 1.0, 0.3)
    other = kernel("a", 1e-3, 1.0, 0.9, dtype="fp32")
    one, two = dots([fast, slow, other])
    assert (one.time_s, two.time_s) == pytest.approx((4e-3, 1e-3))
    assert one.share_of_roof == pytest.approx((0.9 * 1 + 0.3 * 3) / 4)
    assert one.flops == pytest.approx(SLOPE * (0.9e-3 + 0.9e-3))


def test_the_pieces_of_the_bar_sum_to_its_whole_and_stand_in_order():
    bar = strip.lay(RUN.parts, "all", Canvas(), MARGIN, "en")
    assert math.fsum(piece.time_s for piece in bar.pieces) == pytest.approx(RUN.whole_s)
    assert [piece.part for piece in bar.pieces] == list(RUN.parts)
    assert (bar.pieces[0].x0, bar.pieces[-1].x1) == pytest.approx((MARGIN, WIDTH - MARGIN))
    assert all(a.x1 == b.x0 for a, b in zip(bar.pieces, bar.pieces[1:], strict=False))
    wide = [(piece.x1 - piece.x0) / piece.time_s for piece in bar.pieces]
    assert wide == pytest.approx([(WIDTH - 2 * MARGIN) / RUN.whole_s] * len(wide))


def test_a_piece_too_small_for_its_name_is_named_below_and_one_without_time_is_not_drawn():
    bar = strip.lay({"floor": 1e-3, "copies": 0.0, "launch": 1e-9}, "all", Canvas(), MARGIN, "en")
    assert [piece.part for piece in bar.pieces if piece.inside] == ["floor"]
    assert [piece.below for line in bar.lines for piece in line] == ["launch gaps 1 ns, < 0.01 %"]


def test_the_picture_says_what_it_is_of_and_predicted_beside_measured():
    device = OnDevice(0, RUN.whole_s, RUN, 3, 0, 1)
    said = "\n".join(texts(draw(account(many(30), devices=(device, device), mfu=0.31, main_math="bf16"), A100)))
    for part in (
        "Where 13 ms went: PyTorch trace on NVIDIA A100 SXM4 80 GB",
        "run.json · kernels: 30, taking 10 ms · 2 devices added up · MFU 31 %",
        "The whole run: predicted floor 3 ms, measured 13 ms; the floor is 23.1 % of it",
        "3 ms, 23.1 %",
    ):
        assert part in said


def test_what_the_file_does_not_have_is_said():
    said = read(draw(account(EVERY["nothing known"], Attribution(0.0, 0.0, 9e-3, 0.0)), A100))
    assert "All kernels: measured 9 ms; its floor is not known" in said
    assert "kernels without a point, their FLOPs or bytes not known: 3 (90 %)" in said
    assert "not in the file, so not in the bar: copies alone, launch gaps" in said


def test_kernels_without_a_point_are_counted_with_their_time():
    figure = draw(account([kernel("a", 7e-3, 1, 0.5), fill("b", 1e-3), fill("c", 1e-3), mute("d", 1e-3)]), A100)
    assert len(markers(figure)) == 1
    said = read(figure)
    assert "doing no FLOP as copies do: 2 (20 %)" in said
    assert "FLOPs or bytes not known: 1 (10 %)" in said


def test_of_many_kernels_the_longest_have_labels_and_the_rest_is_counted():
    figure = draw(account(many(200)), A100)
    listed = [text for text in texts(figure) if "% of time at" in text]
    assert 0 < len(listed) <= LABELLED
    assert "kernels without a label" in read(figure)


def test_what_holds_much_of_the_time_is_drawn_wherever_it_lies_and_little_is_not():
    near = kernel("gemm", 5e-3, 400, 0.8)
    assert len(markers(draw(account([near, kernel("deep", 5e-3, 1.0, 1e-7)]), A100))) == 2
    figure = draw(account([near, kernel("deep", 1e-6, 1.0, 1e-7)]), A100)
    assert len(markers(figure)) == 1
    assert "kernels far outside the picture: 1 (0.01 %)" in read(figure)


def test_a_kernel_above_its_roof_is_ringed_and_keeps_its_ratio():
    said = texts(draw(account(EVERY["above its roof"]), A100))
    assert "above its roof: a finding" in said
    assert any("106 % of roof" in text.replace("\n", " ") for text in said)


@pytest.mark.parametrize(
    ("name", "operator", "shown"),
    [
        ("void at::native::reduce_kernel<512, at::native::ReduceOp<float>>(T)", "aten::mean", "reduce_kernel (mean)"),
        ("nvjet_tst_64x8_64x16_2x1_v_bz_TNT", "aten::mm", "nvjet_tst_64x8_64x16_2x1_v_bz_TNT"),
        ("void cub::Scan<float>(int)", None, "Scan<float>"),
        ("a" * 30 + "b" * 30, None, "a" * 22 + "…" + "b" * 11),
    ],
)  # fmt: skip
def test_a_name_is_shortened_to_what_tells_kernels_apart(name, operator, shown):
    (dot,) = dots([replace(kernel(name, 1e-3, 1.0, 0.5), operator=operator)])
    assert short(dot) == shown
    assert len(short(dot)) <= NAME


def test_the_same_account_gives_the_same_bytes():
    one, two = (render(draw(account(many(5)), A100), "svg") for _ in range(2))
    assert one == two
    assert b"<title>Where 13 ms went: PyTorch trace on NVIDIA A100 SXM4 80 GB</title>" in one


def test_a_machine_without_roofs_is_a_sentence():
    with pytest.raises(RooflensError, match="no trusted compute roof or memory slope"):
        draw(account(many(3)), Machine("bare", "Bare", ()))
