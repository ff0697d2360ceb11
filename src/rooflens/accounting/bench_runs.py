"""Runs of a serving benchmark: its points belong together, and together they say what a step was like."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rooflens.accounting.bench_record import Demand, Modelled, context_of, prompts
from rooflens.records import record, replace
from rooflens.roofline.observed import BenchPoint
from rooflens.roofline.place import work_of
from rooflens.units import percent, show

TOOLS = ("vllm", "sglang")
STEP_POINTS = ("tpot mean", "itl mean", "tpot median", "itl median")  # the first that is there says how long a step is
OF_BATCH = "tokens_per_s"  # the metric of one batch that ran alone; rates of a served load say which tokens
NO_MODEL = "the model is not known: name it with --model"
NO_BATCH = "how many sequences decode at once needs TPOT (or ITL), and the rates of requests, output and all tokens"
MUCH = 1.05  # more sequences at once than the benchmark sent: its own figures do not fit


@record
class Run:
    """What one run of a serving benchmark said of itself. Rates over the whole duration, times in seconds.

    step_point: the point whose value is the time between two tokens; accepted: tokens a step and sequence, with drafts.
    """

    requests_per_s: float | None = None
    output_per_s: float | None = None
    total_per_s: float | None = None
    token_s: float | None = None
    step_point: str | None = None
    accepted: float = 1.0
    most_at_once: float | None = None

    @property
    def output(self) -> float | None:
        """Output tokens of the mean request; None where the counts are not in the file."""
        return _finite(self.output_per_s / self.requests_per_s) if self.output_per_s and self.requests_per_s else None

    @property
    def prompt(self) -> float | None:
        """Prompt tokens of the mean request."""
        if not (self.requests_per_s and self.total_per_s and self.output_per_s is not None):
            return None
        return _finite((self.total_per_s - self.output_per_s) / self.requests_per_s)

    @property
    def at_once(self) -> float | None:
        """Sequences that decode at once, by Little's law: output tokens/s x time between two tokens of one of them."""
        return _finite(self.output_per_s * self.token_s) if self.output_per_s and self.token_s else None

    @property
    def batch(self) -> float | None:
        """Those of a step while there is one: a whole number, at least 1."""
        return None if self.at_once is None else float(max(round(self.at_once), 1))

    @property
    def context(self) -> float | None:
        """Positions that the mean step attends to."""
        if self.prompt is None or self.output is None:
            return None
        return context_of(self.prompt, self.output)


def _finite(value: float) -> float | None:
    """What a file's odd figures make, where it is a number at all."""
    return value if math.isfinite(value) else None


def runs(points: Sequence[BenchPoint]) -> Iterator[tuple[Run, tuple[BenchPoint, ...]]]:
    """The runs of a file with their points: the next one begins where a name comes again."""
    group: dict[str, BenchPoint] = {}
    for point in points:
        if point.name in group:
            yield _run(group), tuple(group.values())
            group = {}
        group[point.name] = point
    if group:
        yield _run(group), tuple(group.values())


def _run(group: dict[str, BenchPoint]) -> Run:
    values = {name: point.value for name, point in group.items() if point.value is not None and point.value >= 0}
    step = next((name for name in STEP_POINTS if values.get(name)), None)
    conditions = next(iter(group.values())).conditions
    accepted, most = conditions.get("accept_length"), conditions.get("max_concurrency")
    return Run(
        values.get("requests"), values.get("decode"), values.get("prompt and output"),
        values[step] if step else None, step,
        float(accepted) if isinstance(accepted, (int, float)) and accepted > 1 else 1.0,
        float(most) if isinstance(most, (int, float)) else None,
    )  # fmt: skip


def served(point: BenchPoint, run: Run, model: Modelled | None) -> Demand | str | None:
    """What a point of a serving benchmark asked for; a sentence where something is missing; None where nothing is."""
    if point.metric == OF_BATCH:
        return None if point.resource is None else _alone(point, model)
    if point.name in ("decode", run.step_point):
        return _steps(point, run, model)
    return _tokens(run, model) if point.name == "prompt and output" else None


def first_token_s(point: BenchPoint, run: Run, model: Modelled | None) -> float | None:
    """The floor of a time to first token: the prefill of one mean prompt, alone. A standard deviation has none."""
    spread = point.conditions.get("statistic") == "std"
    if model is None or point.metric != "ttft_s" or spread or not run.prompt or round(run.prompt) < 1:
        return None
    return float(model.price("prefill", model.replicas, round(run.prompt), 0).floor_s)


def _steps(point: BenchPoint, run: Run, model: Modelled | None) -> Demand | str:
    """MBU of decode steps. The rate's over the whole duration, idle too; the latency's while there is a step."""
    if model is None:
        return NO_MODEL
    batch, context, token_s, rate = run.batch, run.context, run.token_s, run.output_per_s
    if batch is None or context is None or token_s is None or rate is None:
        return NO_BATCH
    latency = point.name != "decode"
    steps_per_s = (1 / token_s if latency else rate / batch) / run.accepted
    floor_s, demand = _streamed(model, batch, context, steps_per_s)
    least_s = floor_s / run.accepted if latency else None
    return replace(demand, headline=latency, floor_s=least_s, notes=tuple(_step_notes(run, batch)))


def _streamed(model: Modelled, batch: float, context: float, steps_per_s: float) -> tuple[float, Demand]:
    """The floor of a decode step, and what so many of them a second stream."""
    price = model.price("decode", batch, context, 0)
    counted = (
        f"weights and KV cache of a step by the rows of {model.name}, batch {batch:g} at context {context:g}, "
        f"x {steps_per_s:.4g} steps/s"
    )
    return float(price.floor_s), Demand("mbu", float(price.moved_bytes) * steps_per_s, counted)


def _step_notes(run: Run, batch: float) -> Iterator[str]:
    metric = (run.step_point or "").partition(" ")[0].upper()
    if run.at_once is not None and run.at_once < 1:
        yield f"a sequence decodes {percent(run.at_once)} of the time only: a step is taken to have one"
    else:
        yield f"{batch:g} sequences decode at once: output tokens/s x {metric} (Little's law)"
    if run.accepted > 1:
        tokens = f"{run.accepted:.3g}"
        yield f"a step yields {tokens} tokens a sequence (accept length), so steps are that much longer than TPOT"
    if metric == "ITL":
        yield "ITL stands for the time of a step: a piece of the stream with several tokens makes it too long"


def _tokens(run: Run, model: Modelled | None) -> Demand | str:
    """MFU of all that was computed: the mean request's prompt and output, as often as requests finished."""
    if model is None:
        return NO_MODEL
    prompt, output, context = run.prompt, run.output, run.context
    if prompt is None or output is None or context is None or run.requests_per_s is None:
        return "FLOPs need the rates of requests, output and all tokens"
    decode = model.price("decode", model.replicas, context, 0).cost
    named, flops, path = work_of(decode)
    flops *= output
    if round(prompt) >= 1:
        named, first, path = work_of(model.price("prefill", model.replicas, round(prompt), 0).cost)
        flops += first
    counted = f"FLOPs of {prompt:.4g} prompt and {output:.4g} output tokens by the rows of {model.name} x requests/s"
    thumb = 2 * model.params_total * (run.total_per_s or 0.0) / (model.devices * model.replicas)
    note = (
        f"prompt tokens found in a cache cost no FLOPs, and are counted here; 2 x parameters x tokens/s would be "
        f"{show(thumb, 'FLOP/s')} a device, embedding look-ups counted as products"
    )
    return Demand("mfu", flops * run.requests_per_s / model.replicas, counted, math=named, path=path, notes=(note,))


def _alone(point: BenchPoint, model: Modelled | None) -> Demand | str:
    """One batch that ran alone: its sizes are known, so nothing has to be worked out of means."""
    sizes = [point.conditions.get(name) for name in ("batch_size", "input_len", "output_len")]
    batch, prompt, output = (float(n) if isinstance(n, (int, float)) and n >= 1 else None for n in sizes)
    if model is None:
        return NO_MODEL
    if batch is None or prompt is None or point.value is None:
        return "the file does not say batch_size and input_len"
    if point.name == "prefill":
        return prompts(model, batch, prompt, 0, point.value)
    return _streamed(model, batch, context_of(prompt, output or 1), point.value / batch)[1]


def beyond(run: Run) -> str | None:
    """More sequences at once than were ever sent: the rates and the latencies are not of one run."""
    if run.most_at_once and run.at_once and run.at_once > MUCH * run.most_at_once:
        return (
            f"output tokens/s x the time of a token makes {run.at_once:.4g} sequences at once, and at most "
            f"{run.most_at_once:g} were sent: these figures are not of one run, or prompt tokens were counted as output"
        )
    return None


def measurements(points: Sequence[BenchPoint]) -> Iterator[dict[str, float] | str]:
    """Each run as a measured point of a deployment, or a sentence that says what it lacks."""
    for run, of in runs([point for point in points if point.tool in TOOLS]):
        yield _measurement(run, of)


def _measurement(run: Run, points: Sequence[BenchPoint]) -> dict[str, float] | str:
    said = points[0].conditions
    if any(point.metric == OF_BATCH for point in points):
        decode = next((point.value for point in points if point.name == "decode"), None)
        sizes = [said.get(name) for name in ("batch_size", "input_len", "output_len")]
        if not decode or not all(isinstance(size, (int, float)) and size >= 1 for size in sizes):
            return "a batch that ran alone needs its decode throughput, batch_size, input_len and output_len"
        batch, prompt, output = (float(size) for size in sizes if isinstance(size, (int, float)))
        return {"batch": batch, "prompt": prompt, "output": output, "tpot_s": batch / decode}
    if run.accepted > 1:
        return "a run with drafts: its time between tokens is not that of a step"
    if run.step_point is None or not run.step_point.startswith("tpot"):
        return "a run without TPOT: the time between pieces of a stream is not that of a step"
    if run.batch is None or not run.prompt or not run.output or min(run.prompt, run.output) < 1:
        return "a run whose mean prompt and output do not follow: rates of requests, output and all tokens are needed"
    return {"batch": run.batch, "prompt": round(run.prompt), "output": round(run.output), "tpot_s": run.token_s or 0.0}
