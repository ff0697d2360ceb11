"""The page in a real browser: Debian's Chromium, driven by playwright. Left out where one of them is missing."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
from observed_files import TRACE

from rooflens.cli import _run
from rooflens.present.words import say
from rooflens.units import parse
from tools.gallery import MOST_BYTES, fewer_colours

pytestmark = pytest.mark.slow
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
if CHROMIUM is None:
    pytest.skip("Chromium is not installed", allow_module_level=True)

DATA = Path(__file__).parent / "data"
PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
LLAMA = "#model=llama-3.1-8b&on=h100-sxm5-80gb"
FOUR = f"{LLAMA}&on=measured%3Ah200-sxm-141gb&on=b200-sxm-180gb&on=mi300x-192gb&batch=32"
WIDE, PHONE, BEAMER = (1440, 1000), (360, 760), (1920, 1080)
LONG = pytest.mark.long
SIZES = (PHONE, *(pytest.param(size, marks=LONG) for size in ((768, 1024), (1280, 900))), BEAMER)  # the ends first
CONFIG = {
    "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100,
    "num_key_value_heads": 2, "intermediate_size": 128, "torch_dtype": "bfloat16", "max_position_embeddings": 8192,
}  # fmt: skip
SHIFT = """() => new Promise(done => { let sum = 0; new PerformanceObserver(list => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value;
}).observe({ type: "layout-shift", buffered: true }); setTimeout(() => done(sum), 300); })"""


@pytest.fixture(scope="module")
def url():
    """A page that listens on a free port."""
    command = [sys.executable, "-m", "rooflens", "serve", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        lines = []
        for line in served.stdout:
            lines.append(line)
            if line == "}\n":
                break
        yield json.loads("".join(lines))["url"]
        served.terminate()


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def visit(browser, url):
    """Opens the page; afterwards nothing may have been said on the console, and nobody else been asked."""
    contexts, faults, strangers = [], [], []

    def go(fragment=LLAMA, size=WIDE, scheme="light", at=None, ready=True, before=None, **more):
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, accept_downloads=True, **more
        )
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: faults.append(str(error)))
        home = at or url
        page.on(
            "request",
            lambda asked: None if asked.url.startswith((home, "data:", "blob:")) else strangers.append(asked.url),
        )
        if before is not None:
            before(page)
        page.goto(home + fragment)
        if ready:
            page.wait_for_selector("body[data-ready]")
        return page

    yield go
    for context in contexts:
        context.close()
    meant = ("422", "503", "ERR_INTERNET_DISCONNECTED", "ERR_FAILED")  # what a test asked for
    assert [fault for fault in faults if not any(said in fault for said in meant)] == []
    assert strangers == []


def until(page, condition, seconds=60.0):
    """Waits for a condition, asked from outside: the page itself forbids text that is run."""
    end = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(50)


def settled(page):
    page.wait_for_selector("body[data-levers]", timeout=60_000)
    return page


def test_the_page_loads_and_nothing_moves_under_the_reader(visit) -> None:
    page = settled(visit())
    assert page.inner_text("#tpot_floor").endswith("ms")
    assert page.locator(".spot").count() >= 5
    assert page.evaluate(SHIFT) < 0.05
    assert page.evaluate("document.cookie") == ""
    assert page.inner_text("#error") == ""


@pytest.mark.parametrize("size", SIZES)
def test_nothing_moves_where_much_is_asked(visit, size) -> None:
    page = settled(visit(f"{FOUR}&tp=2&tokens=4&acceptance=0.7", size=size))
    assert page.evaluate(SHIFT) < 0.1  # what the web calls good


@pytest.mark.parametrize("size", SIZES)
def test_what_does_not_fit_is_said_first_and_where_batching_is_called_free(visit, size) -> None:
    page = settled(visit("#model=llama-3.1-405b&on=h100-sxm5-80gb&batch=64&lang=vi", size=size))
    assert page.evaluate(SHIFT) < 0.1
    assert page.inner_text("#memory_said").startswith("không vừa")
    assert "alarm" in page.get_attribute("#memory_said", "class")
    assert all("bộ nhớ cho phép 0" in page.inner_text(place) for place in ("#free", "#free_said"))
    assert page.locator("#batching .roomless").count() == 1


def test_points_slide_as_the_batch_is_dragged(visit) -> None:
    page = visit()
    place = "document.querySelector('.spot').style.transform"
    before, tpot = page.evaluate(place), page.inner_text("#tpot_floor")
    page.focus("#batch")
    for _ in range(7):
        page.keyboard.press("ArrowRight")
    page.wait_for_selector("body[data-batch='16']")
    assert page.inner_text("#batch_shown") == "16"
    assert page.evaluate(place) != before
    assert page.inner_text("#tpot_floor") != tpot
    assert "batch=16" in page.url
    assert page.get_attribute("#batch", "aria-valuetext") == "16"
    page.locator("#batch").hover()
    box = page.locator("#batch").bounding_box()
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2, steps=12)
    page.mouse.up()
    page.wait_for_selector("body[data-batch='4096']")
    assert page.inner_text("#error") == ""


def test_a_link_gives_the_same_page_again(visit) -> None:
    said = "#model=mixtral-8x7b&on=a100-sxm4-80gb&on=l40s&batch=24&tp=2&weights=fp8&lang=vi"
    first = visit(said)
    texts = [first.inner_text(part) for part in ("#headline", "#figures", "#operators", "#commands")]
    assert first.input_value("#tp") == "2"
    assert first.input_value("#machine1") == "l40s"
    assert first.input_value("#weights") == "fp8"
    first.select_option("#kv", "fp8")
    until(first, "location.hash.includes('kv=fp8')")
    first.go_back()
    until(first, "document.getElementById('kv').value === ''")
    second = visit(first.url.partition("/#")[2].join(["#", ""]))
    assert [second.inner_text(part) for part in ("#headline", "#figures", "#operators", "#commands")] == texts


@pytest.mark.parametrize("fragment", [f"{LLAMA}&batch=1e9", f"{LLAMA}&colour=red", "#on=h100-sxm5-80gb"])
def test_a_link_that_is_not_whole_says_so_where_it_is_seen(visit, fragment) -> None:
    page = visit(fragment)
    assert "the link could not be read whole" in page.inner_text("#status")
    box = page.locator("#status").bounding_box()
    assert box["width"] > 200  # not only read aloud
    assert box["y"] >= 0


def test_who_skips_to_the_plot_keeps_the_state(visit) -> None:
    page = visit(f"{LLAMA}&batch=48")
    page.focus(".skip")
    page.keyboard.press("Enter")
    until(page, "document.activeElement.id === 'plot'")
    page.wait_for_timeout(300)  # an address that changed is told of a moment later
    assert "batch=48" in page.url
    assert page.input_value("#batch_exact") == "48"


def test_the_language_is_switched_in_place(visit) -> None:
    page = settled(visit())
    floor = page.inner_text("#tpot_floor")
    for lang, word in (("es", "predicción"), ("vi", "dự đoán"), ("en", "prediction")):
        page.select_option("#lang", lang)
        until(page, f"document.getElementById('predict_title').textContent === '{word}'")
        assert page.evaluate("document.documentElement.lang") == lang
        assert page.inner_text("#tpot_floor") == floor


def test_a_lever_is_pulled_and_put_back(visit) -> None:
    page = settled(visit(f"{LLAMA}&batch=16"))
    before = page.inner_text("#tpot_floor")
    page.click("#levers button >> nth=0")
    page.wait_for_selector("#applied:not([hidden])")
    assert before in page.inner_text("#applied")
    assert page.inner_text("#tpot_floor") != before
    page.click("#undo")
    until(page, f"document.getElementById('tpot_floor').textContent === '{before}'")
    assert "batch=16" in page.url


def test_drafts_are_a_lever_that_is_pulled_and_stands_in_its_fields(visit) -> None:
    page = settled(visit(f"{LLAMA}&batch=16"))
    gain = page.inner_text("#levers tr:has-text('speculative decoding') td >> nth=2").removesuffix("×")
    before = float(page.inner_text("#figures dd >> nth=1"))
    page.click("#levers tr:has-text('speculative decoding') button")
    page.wait_for_selector("#applied:not([hidden])")
    assert float(page.inner_text("#figures dd >> nth=1")) / before == pytest.approx(float(gain), rel=0.01)
    assert page.input_value("#tokens") == "4"  # three drafts, and the token that is sure
    assert page.input_value("#acceptance") == "0.7"
    assert "tokens=4&acceptance=0.7" in page.url
    assert page.is_visible("#tokens")
    page.click("#undo")
    until(page, "!location.hash.includes('tokens')")
    assert page.input_value("#tokens") == ""


def test_further_options_are_said_in_a_link_and_on_the_command_line(visit) -> None:
    page = visit(f"{LLAMA}&batch=16")
    page.click("#further summary")
    page.fill("#runtime_bytes", "0.4")  # GB
    page.fill("#block_tokens", "16")
    page.select_option("#attention", "unfused")
    page.fill("#prompt", "1000")
    page.press("#prompt", "Enter")  # a prompt waits for its output
    page.fill("#output", "200")
    page.press("#output", "Enter")
    until(page, "document.getElementById('commands').textContent.includes('--output 200')")
    commands = page.inner_text("#commands")
    assert all(said in commands for said in ("--prompt 1000", "--block-tokens 16", "--attention unfused"))
    again = visit("#" + page.url.partition("#")[2])
    fields = ("runtime_bytes", "block_tokens", "attention", "prompt", "output")
    assert [again.input_value(f"#{name}") for name in fields] == ["0.4", "16", "unfused", "1000", "200"]
    assert again.inner_text("#commands") == commands
    assert again.inner_text("#error") == ""


def test_a_point_says_where_its_ceilings_come_from_and_keys_reach_the_address(visit) -> None:
    page = visit()
    page.focus(".spot >> nth=1")
    link = page.locator(".tip a >> nth=0")
    address = link.get_attribute("href")
    assert address.startswith("https://")
    assert link.inner_text() not in address  # a title
    assert page.locator(".tip a").count() >= 2  # of every source that has one
    assert "source: stas" not in page.inner_text(".tip")
    assert link.get_attribute("rel") == "noopener noreferrer"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.href") == address
    assert page.is_visible(".tip")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.classList.contains('spot')")
    page.mouse.move(2, 2)
    page.evaluate("document.activeElement.blur()")
    page.wait_for_selector(".tip", state="hidden")
    page.hover(".spot >> nth=1")
    page.hover(".tip a >> nth=0")  # on the way to the address it stays
    page.wait_for_timeout(400)
    assert page.is_visible(".tip")


def test_a_panel_that_had_no_answer_has_one_again(visit, tmp_path) -> None:
    page = settled(visit())
    page.fill("#tp", "3")
    page.press("#tp", "Enter")
    until(page, "document.getElementById('levers').textContent.includes('tp 3 does not share out')")
    with page.expect_download() as waited:
        page.click("#keep_json")
    waited.value.save_as(tmp_path / "kept.json")
    kept = json.loads((tmp_path / "kept.json").read_text())
    assert (kept["state"]["tp"], "advise" in kept) == (1, False)  # the levers of what is shown are no longer there
    page.fill("#tp", "1")
    page.press("#tp", "Enter")
    until(page, "document.querySelector('#levers button') !== null")
    until(page, "document.querySelectorAll('#levers.busy').length === 0")


def refusing(page, kind, times, after="1"):
    """The next questions of a kind are told that others are served first; what comes later reaches the server."""
    left = [times]

    def answer(route):
        left[0] -= 1
        if left[0] < 0:
            route.continue_()
        else:
            route.fulfill(status=503, headers={"Retry-After": after}, json={"error": "others are waiting"})

    page.route(f"**/api/{kind}", answer)
    return left


@pytest.mark.parametrize(
    "kind", ["levers", "state", *(pytest.param(one, marks=LONG) for one in ("batching", "ceilings"))]
)
def test_who_is_told_that_others_wait_asks_again_by_himself(visit, kind) -> None:
    page = visit(ready=False, before=lambda page: refusing(page, kind, 2))
    until(page, "document.getElementById('aloud').textContent.includes('others are waiting; this asks again')")
    if kind == "levers":
        assert "this asks again by itself" in page.inner_text("#levers")
    settled(page)
    until(page, "!document.querySelector('.busy') && document.getElementById('aloud').textContent === ''")
    assert page.locator("#levers button").count() > 3
    assert page.locator("#ceilings tbody tr").count() == 1
    assert page.locator("#batching path").count() == 2
    assert page.locator("button.ask_again").count() == 0
    assert page.inner_text("#error") == ""


@pytest.mark.parametrize("lang", ["en", "vi"])
def test_who_reaches_nobody_at_first_is_told_so_in_the_pages_language_and_asks_again(visit, lang) -> None:
    lost = visit(f"?lang={lang}", ready=False, before=lambda page: page.route("**/start", lambda route: route.abort()))
    until(lost, "document.getElementById('error').textContent !== ''")
    assert lost.inner_text("#error") == say("page.no_answer", lang)
    lost.unroute("**/start")
    lost.click("#again")
    settled(lost)
    assert lost.inner_text("#error") == ""


@LONG
def test_who_asked_often_enough_has_a_button(visit) -> None:
    left = []
    page = visit(before=lambda page: left.append(refusing(page, "levers", 1000, "0.01")))
    page.wait_for_selector("button.ask_again", timeout=60_000)
    assert "others are waiting" in page.inner_text("#levers")
    assert page.inner_text("#aloud") == "others are waiting"
    assert 1000 - left[0][0] == 6  # the first question, and five more
    left[0][0] = 0
    page.focus("button.ask_again")
    page.keyboard.press("Enter")
    until(page, "document.querySelectorAll('#levers tbody tr').length > 3")


def test_a_server_that_is_gone_is_a_sentence_and_a_button(visit) -> None:
    page = settled(visit())
    page.context.set_offline(True)
    page.fill("#context", "1024")
    page.press("#context", "Enter")
    until(page, "document.getElementById('error').textContent.includes('nobody answers')")
    page.context.set_offline(False)
    page.click("#again")
    until(page, "document.getElementById('error').textContent === ''")
    assert "1024" in page.inner_text("#commands")
    assert not page.is_visible("#fault")


def test_microbatches_are_asked_for_where_there_is_a_pipeline(visit) -> None:
    page = visit(f"{LLAMA}&batch=16")
    assert not page.is_visible("#microbatches")
    page.fill("#pp", "2")
    page.press("#pp", "Enter")
    page.wait_for_selector("#microbatches", state="visible")
    page.fill("#microbatches", "4")
    page.press("#microbatches", "Enter")
    until(page, "document.getElementById('commands').textContent.includes('--pp 2 --microbatches 4')")
    assert "microbatches=4" in page.url
    page.fill("#pp", "1")
    page.press("#pp", "Enter")
    until(page, "!document.getElementById('commands').textContent.includes('--pp')")
    assert not page.is_visible("#microbatches")
    assert "microbatches" not in page.url


def test_files_are_dropped_read_and_placed(visit, tmp_path) -> None:
    page = visit()
    page.set_input_files("#file", TRACE)
    page.wait_for_selector(".files:not([hidden])")
    assert "kernels against the roofs" in page.inner_text("#files_title")
    assert page.locator(".spot.foreign").count() > 0
    page.click("#put_away")
    assert page.locator(".spot.foreign").count() == 0
    assert not page.is_visible(".files")
    (tmp_path / "tiny.json").write_text(json.dumps(CONFIG))
    page.set_input_files("#file", tmp_path / "tiny.json")
    until(page, "document.getElementById('model').value === 'tiny'")
    until(page, "document.getElementById('commands').textContent.includes('tiny.json')")
    (tmp_path / "strange.txt").write_text("nothing that anybody knows")
    page.set_input_files("#file", tmp_path / "strange.txt")
    until(page, "document.getElementById('error').textContent.includes('strange.txt is no profile')")


def test_a_claim_is_judged_and_a_mistake_is_a_sentence(visit) -> None:
    page = visit()
    page.fill("#claim_first", "h100-sxm5-80gb")
    page.fill("#claim_says", "1979 TFLOP/s bf16")
    page.click("#claim button")
    page.wait_for_selector(".verdict")
    page.fill("#context", "1000000")
    page.press("#context", "Enter")
    until(page, "document.getElementById('error').textContent.includes('was made for 131072 positions')")
    assert page.evaluate("document.body.classList.contains('stale')")
    page.fill("#context", "4096")
    page.press("#context", "Enter")
    until(page, "document.getElementById('error').textContent === ''")


def test_the_plot_is_reached_by_keys_and_by_pointer(visit) -> None:
    page = visit()
    tick = "document.querySelector('.plot .tick').textContent + document.querySelectorAll('.plot .tick').length"
    page.focus(".plot svg")
    lines = page.locator(".plot line.roof").count()
    before = page.evaluate("document.querySelector('.spot').style.transform")
    page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.querySelector('.spot').style.transform") != before
    page.keyboard.press("0")
    assert page.evaluate("document.querySelector('.spot').style.transform") == before
    page.keyboard.press("Tab")
    assert "FLOP/B" in page.inner_text(".tip")
    page.check("#linear")
    assert page.evaluate(tick)
    page.uncheck("#linear")
    page.click("summary[data-say=roofs]")
    page.uncheck("#roofs input >> nth=0")
    assert page.locator(".plot line.roof").count() == lines - 1


def test_back_and_forward_show_their_states_also_where_a_hand_is(visit) -> None:
    page = visit(f"{LLAMA}&lang=en")
    page.fill("#context", "1024")
    page.press("#context", "Enter")
    until(page, "document.getElementById('commands').textContent.includes('--context 1024')")
    assert page.evaluate("document.activeElement.id") == "context"
    page.go_back()
    until(page, "document.getElementById('commands').textContent.includes('--context 2048')")
    assert page.input_value("#context") == "2048"
    page.go_forward()
    until(page, "document.getElementById('commands').textContent.includes('--context 1024')")
    assert page.input_value("#context") == "1024"


@pytest.mark.parametrize(
    ("field", "typed", "said"),
    [
        ("context", "0", "context must be a whole number from 1 to 16777216, not 0"),
        ("tp", "1.5", "tp: expected a whole number, found 1.5"),
        ("batch_exact", "-3", "batch must be a whole number from 1 to 1048576, not -3"),
        ("acceptance", "1.5", "acceptance must lie between 0 and 1, not at 1.5"),
        ("dp", "0", "dp must be a whole number from 1 to 4096, not 0"),
    ],
)
def test_what_a_field_does_not_take_is_a_sentence(visit, field, typed, said) -> None:
    page = visit()
    page.click("#further summary")
    page.fill(f"#{field}", typed)
    page.press(f"#{field}", "Enter")
    until(page, f"document.getElementById('error').textContent === {json.dumps(said)}")
    page.fill(f"#{field}", "")
    page.press(f"#{field}", "Enter")
    page.fill(f"#{field}", "1" if field != "acceptance" else "")
    page.press(f"#{field}", "Enter")
    until(page, "document.getElementById('error').textContent === ''")


def test_an_option_that_is_asked_leaves_the_others_of_a_link(visit) -> None:
    page = visit("#model=mixtral-8x7b&on=h100-sxm5-80gb&tp=2&routing_skew=2&attention=fused-softmax")
    assert page.input_value("#attention") == "fused-softmax"
    page.fill("#block_tokens", "16")
    page.press("#block_tokens", "Enter")
    until(page, "document.getElementById('commands').textContent.includes('--block-tokens 16')")
    assert all(said in page.url for said in ("routing_skew=2", "attention=fused-softmax"))


def test_nothing_is_kept_before_there_is_an_answer(visit) -> None:
    page = visit("#model=llama-9-b&on=h100-sxm5-80gb", ready=False)
    until(page, "document.getElementById('error').textContent.includes('llama-9-b')")
    for kind in ("svg", "png", "csv", "json"):
        page.click(f"#keep_{kind}")
        until(page, "document.getElementById('status').textContent === 'there is no answer to keep yet'")
    page.click("#zoom_in")
    page.focus(".plot svg")
    page.keyboard.press("ArrowLeft")
    page.select_option("#model", "llama-3.1-8b")
    page.wait_for_selector("body[data-ready]")
    assert page.locator(".spot").count() >= 5


def test_how_the_plot_is_looked_at_is_in_the_link(visit) -> None:
    page = visit(f"{TWO}&lang=en")
    lines = page.locator(".plot line.roof").count()
    page.click("#lines summary")
    page.uncheck("#roofs input >> nth=1")
    page.check("#linear")
    page.click("#zoom_in")
    until(page, "location.hash.includes('see=')")
    assert all(said in page.url for said in ("axes=linear", "off="))
    place = "document.querySelector('.spot').style.transform"
    again = visit("#" + page.url.partition("#")[2])
    assert again.is_checked("#linear")
    hidden = [box.is_checked() for box in again.locator("#roofs input").all()]
    assert hidden.index(False) == 1
    assert hidden.count(False) == 1
    there, here = (float(one.evaluate(place).partition("(")[2].partition("px")[0]) for one in (again, page))
    assert there == pytest.approx(here, abs=1)
    again.select_option("#lang", "vi")
    until(again, "document.documentElement.lang === 'vi'")
    until(again, "location.hash.includes('lang=vi')")
    assert "off=" in again.url
    again.click("#see_all")
    until(again, "!location.hash.includes('see=')")
    again.uncheck("#linear")
    again.locator("#roofs input >> nth=1").evaluate("box => box.click()")
    until(again, "!location.hash.includes('off=') && !location.hash.includes('axes=')")
    assert again.locator(".plot line.roof").count() == lines


@pytest.mark.parametrize("axes", ["", "&axes=linear"])
@pytest.mark.parametrize(
    "see", ["1e308 1.1e308 1 2", "1 1.0000000000000002 1 2", "-1e9 1e9 -1e9 1e9", "0 1e-320 0 1e-320"]
)
def test_a_link_to_where_nothing_can_be_seen_shows_all(visit, see, axes) -> None:
    page = visit(f"{LLAMA}{axes}&see={see}")
    assert page.locator(".plot line.roof").count() > 3
    assert page.locator(".plot line.grid").count() < 40


@pytest.mark.parametrize("axes", ["", "&axes=linear"])
def test_nobody_zooms_to_where_nothing_is_told_apart(visit, axes) -> None:
    page = visit(f"{LLAMA}{axes}")
    page.focus(".plot > svg")
    for key in ("-", "+", "ArrowLeft"):
        for _ in range(150):
            page.keyboard.press(key)
        assert 0 < page.locator(".plot line.grid").count() < 40
    page.keyboard.press("0")
    assert page.locator(".plot line.roof").count() > 3


def test_a_claim_that_is_judged_takes_no_other_sentence_away(visit) -> None:
    page = visit()
    page.fill("#context", "1000000")
    page.press("#context", "Enter")
    until(page, "document.getElementById('error').textContent.includes('was made for 131072 positions')")
    page.click("#claim button")
    until(page, "document.getElementById('error').textContent.includes('say what is claimed')")
    assert "was made for 131072 positions" in page.inner_text("#error")
    page.fill("#claim_says", "1979 TFLOP/s bf16")
    page.click("#claim button")
    page.wait_for_selector(".verdict")
    until(page, "!document.getElementById('error').textContent.includes('say what is claimed')")
    assert "was made for 131072 positions" in page.inner_text("#error")
    page.fill("#context", "4096")
    page.press("#context", "Enter")
    until(page, "document.getElementById('error').textContent === ''")


def is_said_by(text, exact, unit=""):
    """Whether a text is this number, rounded at its last digit."""
    number, *shown = text.removesuffix("×").split()
    last = 10.0 ** -len(number.partition(".")[2]) if "e" not in number else 0.0
    scale = parse(f"1 {shown[0]}", unit) if unit else 1.0
    return abs(float(number) * scale - exact) <= 0.5001 * last * scale


@pytest.mark.parametrize(
    "fragment",
    [
        f"{LLAMA}&batch=16&weights=fp8&lang=es",
        "#model=mixtral-8x7b&on=measured%3Ah200-sxm-141gb&batch=48&tp=2&engine=vllm&lang=vi",
        "#model=llama-3.1-70b&on=b200-sxm-180gb&on=l4&batch=100&context=3000&tokens=3&acceptance=0.6&lang=en",
    ],
)
def test_every_digit_that_is_seen_is_the_command_lines(visit, fragment, capsys) -> None:
    page = settled(visit(fragment))
    answers = []
    for at in range(3):
        line = page.inner_text(f"#commands code >> nth={at}")
        assert _run([*shlex.split(line)[1:], "--json"]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    place, predict, advise = answers
    for name in ("tpot", "ttft"):
        for kind in ("floor", "estimate"):
            assert is_said_by(page.inner_text(f"#{name}_{kind}"), predict[f"{name}_s"][kind], "s")
    figures = page.locator("#figures dd").all_inner_texts()
    for at, key in enumerate(
        ("tokens_per_s_per_user", "tokens_per_s", "tokens_per_s_per_device", "tokens_per_s_ceiling")
    ):
        assert is_said_by(figures[at], predict[key])
    assert figures[-1] == str(predict["batch_memory_allows"])
    floors = page.locator("#operators tbody tr td:last-child").all_inner_texts()
    assert len(floors) == len(place["operators"])
    assert all(is_said_by(text, row["floor_s"], "s") for text, row in zip(floors, place["operators"], strict=True))
    gains = page.locator("#levers tbody tr td:nth-child(4)").all_inner_texts()
    tried = [lever for lever in advise["levers"] if "why_not" not in lever]
    assert all(is_said_by(text, one["gain_estimate"]) for text, one in zip(gains, tried, strict=True))


def lie_apart(one, other):
    """Whether an edge of one of two convex shapes parts them (the separating axis theorem)."""
    for shape in (one, other):
        for (x1, y1), (x2, y2) in zip(shape, [*shape[1:], shape[0]], strict=True):
            first, second = ([(x - x1) * (y2 - y1) - (y - y1) * (x2 - x1) for x, y in s] for s in (one, other))
            if max(first) <= min(second) or max(second) <= min(first):
                return True
    return False


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("fragment", [FOUR, f"{LLAMA}&on=measured%3Ah200-sxm-141gb&lang=vi", f"{FOUR}&phase=prefill"])
def test_no_name_in_the_plot_lies_on_another(visit, size, fragment) -> None:
    page = visit(fragment, size=size)
    names = page.evaluate((DATA / "page_names.js").read_text())
    assert len(names) >= 3
    vectors = [name["text"] for name in names if " 134 TFLOP/s" in name["text"]]
    assert all("vector" in text for text in vectors)  # shortened, it is still no roof of matrix units
    for at, name in enumerate(names):
        for other in names[at + 1 :]:
            assert lie_apart(name["corners"], other["corners"]), (name["text"], other["text"])
    page.click("#lines summary")  # what has no name has one here
    assert page.locator("#roofs label").count() >= page.locator(".plot line.roof").count()


@pytest.mark.parametrize("size", SIZES)
def test_what_a_point_says_lies_over_nothing_beside_the_plot(visit, size) -> None:
    page = visit(f"{TWO}&lang=vi", size=size)
    for at in range(page.locator(".spot").count()):
        page.focus(f".spot >> nth={at}")
        tip, plot = page.locator(".tip").bounding_box(), page.locator(".plot").bounding_box()
        for begin, long in (("x", "width"), ("y", "height")):
            assert tip[begin] >= plot[begin] - 1
            assert tip[begin] + tip[long] <= plot[begin] + plot[long] + 1


def test_a_line_says_its_name_when_it_is_pointed_at(visit) -> None:
    page = visit(FOUR, size=PHONE)
    page.locator(".plot line.hit >> nth=-1").dispatch_event("pointerenter", {"clientX": 100, "clientY": 100})
    assert "FLOP/s" in page.inner_text(".tip")
    assert "MI300X" in page.inner_text(".tip")


@pytest.mark.parametrize("lang", ["en", pytest.param("es", marks=LONG), "vi"])
@pytest.mark.parametrize("size", SIZES)
def test_no_text_is_cut_off(visit, size, lang) -> None:
    page = settled(visit(f"{FOUR}&pp=2&lang={lang}", size=size))
    opened(page)
    assert page.evaluate((DATA / "page_cut.js").read_text()) == []


FOCUSED = """() => {
  const node = document.activeElement, box = node.getBoundingClientRect(), look = getComputedStyle(node);
  const ring = node.querySelector ? node.querySelector('.ring') : null;
  const near = node.closest('.button') ? getComputedStyle(node.closest('.button')) : look;
  return {
    name: node.tagName + (node.id ? '#' + node.id : ''),
    marked: near.outlineStyle !== 'none' || (ring !== null && getComputedStyle(ring).stroke !== 'rgba(0, 0, 0, 0)'),
    seen: box.bottom > 0 && box.top < innerHeight,
    end: node === document.body,
  };
}"""


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_tab_reaches_everything_and_shows_where_it_is(visit, size) -> None:
    page = settled(visit(f"{LLAMA}&batch=16", size=size))
    reached = []
    for _ in range(120):
        page.keyboard.press("Tab")
        found = page.evaluate(FOCUSED)
        if found["end"]:
            break
        assert found["marked"], found
        assert found["seen"], found
        reached.append(found["name"])
    controls = ["SELECT#lang", "SELECT#model", "INPUT#batch", "svg", "BUTTON#zoom_in", "DIV#levers", "BUTTON#keep_png"]
    assert [name for name in controls if name in reached] == sorted(controls, key=reached.index)
    assert set(controls) <= set(reached)
    assert reached.count("g") >= 2  # points
    assert ("BUTTON#more" in reached) == (size is PHONE)


def test_what_is_kept_of_an_answer(visit, tmp_path) -> None:
    page = settled(visit(f"{LLAMA}&batch=16"))
    found = {}
    for kind in ("png", "svg", "csv", "json"):
        with page.expect_download() as waited:
            page.click(f"#keep_{kind}")
        waited.value.save_as(tmp_path / f"kept.{kind}")
        found[kind] = (tmp_path / f"kept.{kind}").read_bytes()
        assert waited.value.suggested_filename == f"llama-3.1-8b-h100-sxm5-80gb-b16.{kind}"
    assert found["png"].startswith(b"\x89PNG")
    assert len(found["png"]) > 20_000
    assert b"<svg" in found["svg"]
    assert b"qkv" in found["svg"]
    kept = json.loads(found["json"])
    rows = found["csv"].decode().splitlines()
    assert len(rows) == len(kept["place"]["operators"]) + 1
    floors = [float(row.rsplit(",", 1)[1]) for row in rows[1:]]
    assert floors == [operator["floor_s"] for operator in kept["place"]["operators"]]
    assert kept["advise"]["levers"]


def test_one_file_works_offline(visit, tmp_path) -> None:
    out = tmp_path / "report.html"
    command = [sys.executable, "-m", "rooflens", "page", "llama-3.1-8b", "--on", "a100-sxm4-80gb", "--batch", "16"]
    subprocess.run([*command, "-o", out], check=True, capture_output=True)
    page = settled(visit("", at=out.as_uri(), offline=True))
    floor = page.inner_text("#tpot_floor")
    page.focus("#batch")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("body[data-batch='24']")
    assert page.inner_text("#tpot_floor") != floor
    page.select_option("#lang", "vi")
    until(page, "document.getElementById('predict_title').textContent === 'dự đoán'")
    assert page.is_disabled("#model")
    chosen = page.locator("#machine0 option:checked")
    assert chosen.inner_text() == "A100 SXM4 80GB"  # by its name among its maker's, and not among what was measured
    assert chosen.evaluate("option => option.parentElement.label") == "NVIDIA"
    assert page.is_visible("#offline")
    assert page.inner_text("#error") == ""


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """axe-core as npm has it."""
    npm, home = shutil.which("npm"), tmp_path_factory.mktemp("axe")
    if npm is None:
        pytest.skip("npm is not installed, so axe-core cannot be had")
    done = subprocess.run(
        [npm, "pack", "axe-core", "--silent"], cwd=home, capture_output=True, check=False, timeout=120
    )
    packed = next(home.glob("axe-core-*.tgz"), None)
    if done.returncode or packed is None:
        pytest.skip("axe-core cannot be had from npm here")
    with tarfile.open(packed) as archive:
        return archive.extractfile("package/axe.min.js").read().decode()


def opened(page):
    """Everything that folds is unfolded, a lever is pulled, a claim judged, a point pointed at."""
    for summary in page.locator("summary").all():
        if summary.is_visible() and not summary.evaluate("node => node.parentElement.open"):
            summary.click()
    page.fill("#claim_first", "h100-sxm5-80gb")
    page.fill("#claim_says", "1979 TFLOP/s bf16")
    page.click("#claim button")
    page.wait_for_selector(".verdict")
    page.click("#levers button >> nth=0")
    page.wait_for_selector("#applied:not([hidden])")
    page.focus(".spot >> nth=0")


def read(page):
    """A file was dropped."""
    page.set_input_files("#file", DATA / "llama_bench_made_up.json")
    page.wait_for_selector(".files:not([hidden])", timeout=60_000)


def faulty(page):
    """What is shown answers an older question, and a panel waits to be asked again."""
    refusing(page, "levers", 1000, "0.01")
    page.fill("#context", "2000")
    page.press("#context", "Enter")
    page.wait_for_selector("button.ask_again", timeout=60_000)
    page.fill("#context", "1000000")
    page.press("#context", "Enter")
    page.wait_for_selector(".stale")
    page.click("#copy_link")


@pytest.mark.parametrize(
    ("size", "scheme", "state"),
    [
        (WIDE, "dark", opened), (PHONE, "light", opened), (WIDE, "dark", read),
        *(pytest.param(*one, marks=LONG) for one in (
            (WIDE, "light", opened), (BEAMER, "dark", opened), (WIDE, "light", faulty), (PHONE, "dark", faulty)
        )),
    ],
)  # fmt: skip
def test_axe_finds_nothing_serious(visit, axe, size, scheme, state) -> None:
    page = settled(visit(f"{LLAMA}&on=measured%3Ah200-sxm-141gb&batch=16&tp=2", size=size, scheme=scheme))
    state(page)
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    serious = [
        (one["id"], [(node["target"], node["any"][:1]) for node in one["nodes"]][:4])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


TWO = f"{LLAMA}&on=measured%3Ah200-sxm-141gb&batch=32"


@LONG
@pytest.mark.parametrize(
    ("name", "fragment", "size", "scheme"),
    [
        ("page", TWO, WIDE, "light"), ("page-dark", FOUR, WIDE, "dark"), ("page-phone", TWO, PHONE, "light"),
        ("page-es", f"{LLAMA}&batch=16&weights=fp8&lang=es", WIDE, "light"),
        ("page-vi", "#model=mixtral-8x7b&on=h100-sxm5-80gb&batch=24&tp=2&engine=vllm&lang=vi", WIDE, "light"),
    ],
)  # fmt: skip
def test_pictures_of_the_page(visit, tmp_path, name, fragment, size, scheme) -> None:
    """Written into docs/ when PICTURES is set: fonts differ from system to system."""
    page = settled(visit(fragment, size=size, scheme=scheme, device_scale_factor=2 if size is PHONE else 1))
    until(page, "!document.querySelector('.busy')")
    if size is PHONE:
        page.evaluate("document.querySelector('.roofline').scrollIntoView()")
        assert page.locator(".plot").bounding_box()["y"] + page.locator(".plot").bounding_box()["height"] < size[1]
    page.screenshot(path=tmp_path / f"{name}.png")
    small = fewer_colours(tmp_path / f"{name}.png")
    assert 20_000 < len(small) < MOST_BYTES
    if os.environ.get("PICTURES"):
        (PICTURES / f"{name}.png").write_bytes(small)
