"""The roofline picture: what it shows, and that no text ever covers another text or a point."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest
from plot_scenes import A100, CPU, a100_points, ceiling, cpu_points, gpu, outside, overlaps, point, random_scene

from rooflens.cli.plot import _roofline
from rooflens.errors import RooflensError
from rooflens.present.canvas import HEIGHT, WIDTH, Canvas
from rooflens.present.layout import arrange
from rooflens.present.paint import paint
from rooflens.present.plan import marks
from rooflens.present.plot import draw, render, text_boxes
from rooflens.present.roofs import roofs, slopes
from rooflens.present.scene import compose
from rooflens.roofline.ceilings import Machine

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def cpu_figure():
    return draw(CPU, cpu_points())


@pytest.fixture(scope="module")
def cpu_texts(cpu_figure):
    return [text for text, _ in text_boxes(cpu_figure)]


def assert_clean(figure):
    boxes = text_boxes(figure)
    assert list(overlaps(boxes)) == []
    assert outside(boxes, WIDTH, HEIGHT) == []


def test_every_text_of_a_cpu_plot_stands_free(cpu_figure):
    assert_clean(cpu_figure)


def test_every_text_of_an_a100_plot_stands_free():
    assert_clean(draw(A100, a100_points()))


def test_every_text_of_a_comparison_stands_free():
    figure = draw([CPU, A100], {"here": cpu_points(), "a100-sxm4-80gb": a100_points()})
    assert_clean(figure)
    texts = [text for text, _ in text_boxes(figure)]
    assert "A  Two cores of a server CPU" in texts
    assert "B  int8 624 TFLOP/s" in texts


@pytest.mark.parametrize("lang", ["es", "vi"])
def test_every_text_stands_free_in_other_languages(lang):
    assert_clean(draw(CPU, cpu_points()[::3], lang=lang))


@pytest.mark.parametrize(("lang", "basis"), [("en", "dense, measured"), ("es", "densos, medidos"), ("vi", "đo được")])
def test_the_subtitle_says_what_its_peaks_are_in_the_language(lang, basis):
    scene = compose(dataclasses.replace(CPU, peak_basis="dense, measured"), cpu_points(), lang=lang)
    assert basis in scene.subtitle
    assert basis in scene.notes[0]


@pytest.mark.parametrize(
    ("lang", "said"), [("en", "dense, vendor / measured peaks"), ("es", "picos densos, del fabricante / medidos")]
)
def test_what_all_peaks_of_a_comparison_are_is_said_once(lang, said):
    machines = [
        dataclasses.replace(A100, peak_basis="dense, vendor"),
        dataclasses.replace(CPU, peak_basis="dense, measured"),
    ]
    assert said in compose(machines, lang=lang).subtitle


@pytest.mark.parametrize("seed", [3, 11])
def test_no_text_covers_a_text_or_a_point_in_random_pictures(seed):
    canvas = Canvas()
    plan = arrange(compose(*random_scene(seed)), canvas)
    paint(plan, canvas)
    assert_clean(canvas.figure)
    assert sorted(one.key for one in plan.placed) == list(range(len(plan.bundles)))
    assert not any(one.box.hits(mark) for one in plan.placed for mark in marks(plan))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_no_text_covers_a_text_or_a_point_in_many_random_pictures(seed):
    test_no_text_covers_a_text_or_a_point_in_random_pictures(seed)


def test_a_plot_names_machine_units_roofs_slopes_ridges_points_and_what_is_not_drawn(cpu_texts):
    said = "\n".join(cpu_texts)
    for part in (
        "Roofline: Two cores of a server CPU",
        "dense peaks, operators in fp32",
        "Arithmetic intensity (FLOP/byte)",
        "Performance (FLOP/s)",
        "100 GFLOP/s",
        "fp32 sustained, burst 329–338 GFLOP/s",
        "fp64 burst 176 GFLOP/s",
        "fp64 sustained 161 GFLOP/s",
        "memory read 33.2 GB/s",
        "L3 70 GB/s",
        "ridge 9.9",  # 329 / 33.2
        "decode attention S=1024, 3.9 %",
        "GEMM 4096, 94.4 %",  # of the best roof, burst: 319 / 338
        "measured operator",
        "not trusted: bf16 burst (emulated)",
    ):
        assert part in said, part


def test_an_untrusted_roof_is_never_drawn():
    assert "bf16" not in {d for roof in roofs(CPU) for d in roof.dtypes}
    assert 500e9 not in {roof.value for roof in roofs(CPU)}


def test_a_path_that_does_not_exist_is_said_and_not_drawn():
    scene = compose(A100, a100_points())
    assert "fp8" not in {d for roof in scene.roofs for d in roof.dtypes}
    assert any(note == "no such path: fp8" for note in scene.notes)


def test_equal_roofs_share_one_line_and_one_name():
    labels = [roof.label for roof in roofs(A100)]
    assert labels == [
        "int8 624 TFLOP/s",
        "bf16, fp16 312 TFLOP/s",
        "tf32 156 TFLOP/s",
        "fp64 tensor, fp32 19.5 TFLOP/s",
        "fp64 vector 9.7 TFLOP/s",
    ]


def test_ridges_are_roof_over_slope():
    ridges = {roof.dtypes[0]: roof.ridge for roof in roofs(A100)}
    assert ridges["bf16"] == pytest.approx(312e12 / 2.0e12)  # 156
    assert ridges["int8"] == pytest.approx(312)


def test_the_read_slope_is_drawn_and_not_the_copy():
    main = slopes(CPU)[0]
    assert (main.level, main.value) == ("main", 33.2e9)
    assert 45.7e9 not in {s.value for s in slopes(CPU)}


def test_burst_and_datasheet_are_dashed_and_sustained_is_solid(cpu_figure):
    axes = cpu_figure.axes[0]
    thick = [line for line in axes.lines if len(line.get_ydata()) == 2 and line.get_linewidth() > 2]
    by_rate = {round(line.get_ydata()[0]): line for line in thick}
    assert by_rate[161_000_000_000].get_linestyle() == "-"
    assert by_rate[176_000_000_000].is_dashed()


def ladder_points():
    names = [
        f"decode attention fp16 S={s} ({way})" for s in (128, 1024, 4096, 16384) for way in ("naive", "fused, graph")
    ]
    rates = (5e8, 1e11, 5e9, 3e11, 2e10, 8e11, 5e10, 2e12)
    decode = [point(gpu(), name, "fp16", 1.0, rate) for name, rate in zip(names, rates, strict=True)]
    rows = [point(gpu(), f"decode FFN batch {b}", "bf16", b, 4.3e12 * b) for b in (1, 16, 64)]
    return [
        *decode,
        *rows,
        point(gpu(), "GEMM bf16", "bf16", 2048, 808e12),
        point(gpu(), "GEMM fp8", "fp8", 6554, 1.56e15),
    ]


def test_datasheet_beside_measured_makes_a_table_of_roofs_where_every_text_stands_free():
    figure = draw(gpu(), ladder_points())
    assert_clean(figure)
    texts = [text for text, _ in text_boxes(figure)]
    for part in (
        "sustained",
        "burst",
        "datasheet",
        "ridge",
        "1.29 P",
        "810 T",
        "66.9 T",
        "146",
        "power roof (700 W): sustained",
    ):
        assert part in texts, part  # 671 / 4.608 = 145.6
    assert sum("decode attention" in text for text in texts) == 8  # each at its point, none in a list


def test_a_table_of_roofs_marks_only_settled_ridges_and_draws_the_rest_dashed():
    found = {(roof.dtypes[0], roof.style): roof for roof in roofs(gpu())}
    assert found["bf16", "sustained"].marked
    assert not found["bf16", "burst"].marked
    assert not found["fp8", "spec"].marked
    assert all(roof.marked for roof in (*roofs(CPU), *roofs(A100)))


def test_what_no_power_limit_holds_is_not_called_a_power_roof():
    free = dataclasses.replace(gpu(), ceilings=tuple(dataclasses.replace(c, throttle=None) for c in gpu().ceilings))
    texts = [text for text, _ in text_boxes(draw(free))]
    assert not any("power roof" in text for text in texts)


def test_a_launch_caps_every_kernel_of_a_point():
    once = point(CPU, "step", "fp32", 0.5, 1e9, flops=1e3)
    one, six = (compose(CPU, [dataclasses.replace(once, launches=n)]).spots[0].cap for n in (1.0, 6.0))
    assert one == pytest.approx(1e3 / 2.1e-6)
    assert six == pytest.approx(one / 6)


@pytest.mark.parametrize("intensity", [0.1, 300.0, 20000.0])
def test_points_far_apart_all_lie_inside_and_roofs_span_them(intensity):
    points = [point(A100, f"op {x:g}", "fp16", x) for x in (0.1, 300.0, 20000.0)]
    scene = compose(A100, points)
    assert scene.intensities[0] < intensity < scene.intensities[1]
    assert scene.rates[0] < min(p.flops_per_s for p in points)
    assert scene.rates[1] > 624e12


def test_a_point_above_its_roof_is_drawn_where_it_is_and_marked():
    scene = compose(A100, [point(A100, "GEMM", "fp16", 4000, 330e12)])
    (spot,) = scene.spots
    assert (spot.rate, spot.finding) == (330e12, True)
    assert spot.label == "GEMM, 105.8 %: above its roof"  # 330 / 312


def test_a_point_above_the_slope_is_a_finding_even_far_under_the_peak():
    (spot,) = compose(A100, [point(A100, "copy", "fp16", 1, 2.6e12)]).spots
    assert spot.label == "copy, 0.83 %, 130 % of attainable"  # 2.6 / 312 of peak, 2.6 / 2.0 of the slope


def test_measured_points_are_filled_and_attainable_ones_hollow():
    figure = draw(A100, [point(A100, "run", "fp16", 1, 1e12), point(A100, "priced", "fp16", 100)])
    faces = {tuple(line.get_xdata()): line.get_markerfacecolor() for line in figure.axes[0].lines}
    assert faces[1.0,] != "#ffffff"
    assert faces[100.0,] == "#ffffff"


def test_a_launch_cap_is_flops_over_launch_time_where_it_is_below_the_roof():
    small = point(CPU, "small", "fp32", 0.5, 1e6, flops=1e4)
    large = point(CPU, "large", "fp32", 0.5, 14e9, flops=1e9)
    first, second = compose(CPU, [small, large]).spots
    assert first.cap == pytest.approx(1e4 / 2.1e-6)  # 4.76 GFLOP/s, under 16.6
    assert second.cap is None  # 1e9 / 2.1e-6 = 476 TFLOP/s


def test_a_launch_floor_that_caps_no_point_is_said_below():
    small = point(CPU, "small", "fp32", 0.5, 1e6, flops=1e4)
    large = point(CPU, "large", "fp32", 0.5, 14e9, flops=1e9)
    said = "launch floor 2.1 us a kernel: it caps no point here"
    assert said in compose(CPU, [large]).notes
    assert said not in compose(CPU, [small, large]).notes
    assert not any("launch floor" in note for note in compose(A100, [point(A100, "GEMM", "fp16", 1)]).notes)


def test_points_without_a_place_on_a_log_plot_are_named_below_it():
    still = dataclasses.replace(point(A100, "look-up", "fp16", 1), intensity_flops_per_byte=None)
    scene = compose(A100, [still])
    assert scene.spots == ()
    assert any("look-up" in note for note in scene.notes)


def test_twenty_points_on_one_place_get_one_label_and_no_name_is_lost():
    figure = draw(A100, [point(A100, f"decode op{i}", "fp16", 1.0) for i in range(20)])
    said = " ".join(" ".join(text for text, _ in text_boxes(figure)).split())
    assert all(f"op{i}" in said for i in range(20))
    assert_clean(figure)


def test_labels_without_room_become_a_numbered_list():
    points = [point(A100, f"kernel with a long name {i}", "fp16", 1.0, 1.99e12 * 0.97**i) for i in range(16)]
    figure = draw(A100, points)
    assert_clean(figure)
    assert "1" in [text for text, _ in text_boxes(figure)]


def test_hostile_names_are_plain_text():
    figure = draw(
        A100, [point(A100, "$\\frac{1}{0}$ \x1b[31m\n<b> 算子 " + "x" * 200, "fp16", 1.0)], title="a $b$ & <c>"
    )
    assert_clean(figure)
    assert b"a $b$ &amp; &lt;c&gt;" in render(figure, "svg")


def test_a_machine_without_slopes_or_without_roofs_is_still_drawn():
    only_roof = Machine("r", "Roof only", (ceiling("compute", 1e12, dtype="fp32"),))
    only_slope = Machine("s", "Slope only", (ceiling("memory", 1e12, level="main"),))
    assert_clean(draw(only_roof))
    assert_clean(draw(only_slope))


def test_nothing_to_draw_is_a_sentence():
    with pytest.raises(RooflensError, match="bare: no trusted compute roof or memory slope"):
        draw(Machine("bare", "Bare", ()))
    with pytest.raises(RooflensError, match="needs a machine"):
        draw([])
    with pytest.raises(RooflensError, match="6 machines are too many"):
        draw([A100] * 6)
    with pytest.raises(RooflensError, match="points for b200"):
        draw(A100, {"b200": []})


def test_a_title_too_long_for_the_page_is_made_smaller_and_cut():
    assert_clean(draw(A100, title="A very long title " * 20))


def test_the_png_is_a_full_hd_slide_and_the_same_every_time(cpu_figure):
    first = render(cpu_figure, "png")
    assert first == render(cpu_figure, "png")
    assert first[16:24] == WIDTH.to_bytes(4, "big") + HEIGHT.to_bytes(4, "big")
    assert b"tEXt" not in first


def test_the_svg_is_the_same_every_time_and_has_no_date(cpu_figure):
    first = render(cpu_figure, "svg")
    assert first == render(cpu_figure, "svg")
    assert b"<title>Roofline: Two cores of a server CPU</title>" in first
    assert b"dc:date" not in first


def test_drawing_twice_gives_the_same_bytes():
    one, two = (render(draw(A100, a100_points()[:2]), "svg") for _ in range(2))
    assert one == two


def test_another_format_is_refused(cpu_figure):
    with pytest.raises(ValueError, match="png or svg"):
        render(cpu_figure, "gif")


def test_drawing_loads_no_pyplot(cpu_figure):
    assert "matplotlib.pyplot" not in sys.modules


@pytest.mark.slow
def test_a_note_names_only_what_has_no_place_in_the_picture():
    found = _roofline(ROOT / "experiments" / "h200_x2" / "profile.json")  # so crowded that it takes several attempts
    figure = draw(found.machine, found.points)
    texts = [text for text, _ in text_boxes(figure)]
    assert "nvlink 395 GB/s" in texts
    assert not any("without room" in text and "nvlink" in text for text in texts)


def test_halos_lie_under_every_text(cpu_figure):
    texts = [t for t in cpu_figure.texts if t.get_text().startswith("decode attention")]
    halos, letters = ([t for t in texts if (t.get_label() == "halo") is under] for under in (True, False))
    assert len(halos) == len(letters) > 0
    assert max(t.get_zorder() for t in halos) < min(t.get_zorder() for t in letters)
    assert {t.get_position() for t in halos} == {t.get_position() for t in letters}
