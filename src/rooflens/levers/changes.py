"""What can be changed about a deployment, each as another deployment; or why it cannot help here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rooflens.dtypes import Dtype, dtype
from rooflens.errors import NoPath, RooflensError
from rooflens.models import rebuilt
from rooflens.prediction.deployment import Deployment, batch_at_ridge
from rooflens.records import record, replace
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.math import SIXTEEN, resolve
from rooflens.units import percent, show
from rooflens.workload import precision

WEIGHTS = ("fp8", "int8", "int4", "nvfp4", "mxfp4")
CACHES = {"fp8": "kv", "int8": "kv_int8"}  # format -> key of an engine's option
DRAFTS = 3
SPARSE_SHARE = {16: 0.5 + 2 / 32, 8: 0.5 + 2 / 16}  # kept values and 2 bits of position for each, by bits a value
LINEAR = ("", "project", "linear", "expert", "shared", "head")


@record
class Change:
    """One lever. after: the deployment it makes; None where it cannot exist or would change nothing, with `why_not`.

    flag: the key of an engine's option. per: what it is better in, tokens/s a device or the time of a user's token.
    activations: whether the operands that may stay on chip are what it changes. note: what it costs or needs beside.
    without: the part of an expected time that it takes away, where the floor stays as it is ("prompts", "host").
    """

    name: str
    flag: str
    after: Deployment | None = None
    why_not: str | None = None
    activations: bool = False
    note: str | None = None
    without: str | None = None


@record
class Means:
    """What changes may use. most: sequences that memory allows; machines: others to move to; acceptance: of drafts."""

    most: int | None = None
    machines: Sequence[Machine] = ()
    acceptance: float = 0.7


def changes(now: Deployment, means: Means) -> Iterator[Change]:
    """Every lever there is, in the order of the text books; those that cannot help say why."""
    for make in (_batch, _weights, _cache, _activations, _sparse, _attention, _grouped, _drafts, _graphs, _chunks):
        yield from make(now, means)
    for make in (_tensor, _pipeline, _experts, _replicas, _apart, _machines):
        yield from make(now, means)


def _batch(now: Deployment, means: Means) -> Iterator[Change]:
    ridge = batch_at_ridge(now)
    wanted = min([n for n in (means.most, ridge) if n is not None], default=None)
    if wanted is None or wanted <= float(now.batch):
        full = means.most is not None and means.most <= float(now.batch)
        why = (
            "memory holds no more sequences at this context" if full else "compute binds the weights' products already"
        )
        yield Change("a larger batch", "batch", why_not=why)
        return
    limit = "memory" if wanted == means.most else "the ridge point"
    yield Change(f"batch {wanted}", "batch", replace(now, batch=float(wanted)), note=f"as far as {limit} allows")


def _weights(now: Deployment, _: Means) -> Iterator[Change]:
    own = now.precision.weights
    for name in WEIGHTS:
        narrow = dtype(name)
        label = f"{name} weights"
        if narrow.bits >= own.bits:
            if narrow.name == own.name:
                yield Change(label, "weights", why_not="they are stored so already")
            continue
        yield _restored(now, label, narrow, "weights")


def _restored(now: Deployment, label: str, weights: Dtype, flag: str) -> Change:
    try:
        stored = precision(
            now.precision.activations, weights.name, now.precision.kv.name, state=now.precision.state.name
        )
        found, notes = resolve(stored, now.machine)
    except (NoPath, RooflensError) as reason:
        return Change(label, flag, why_not=str(reason))
    return Change(label, flag, replace(now, precision=found), note="; ".join(notes) or None)


def _cache(now: Deployment, _: Means) -> Iterator[Change]:
    if not float(now.model.kv_elements(1.0)):
        yield Change("a narrower KV cache", "kv", why_not="this model has no KV cache")
        return
    for name, flag in CACHES.items():
        narrow = dtype(name)
        if narrow.bits >= now.precision.kv.bits:
            yield Change(f"{name} KV cache", flag, why_not="it is stored as narrow already")
        else:
            yield Change(f"{name} KV cache", flag, replace(now, precision=replace(now.precision, kv=narrow)))


def _activations(now: Deployment, _: Means) -> Iterator[Change]:
    """Narrow arithmetic for weights that are narrow already (weight-only formats computed in 16 bit)."""
    used = now.precision.math_of("linear")
    label = "fp8 arithmetic"
    if now.precision.weights.bits >= SIXTEEN or used in ("fp8", "int8", "fp4"):
        why = "it comes with narrower weights" if now.precision.weights.bits >= SIXTEEN else f"{used} is used already"
        yield Change(label, "weights", why_not=why)
        return
    try:
        found, _notes = resolve(replace(now.precision, math={}), now.machine, "fp8")
    except NoPath as reason:
        yield Change(label, "weights", why_not=str(reason))
        return
    yield Change(
        label, "weights", replace(now, precision=found), note="needs kernels that narrow activations on the fly"
    )


def _sparse(now: Deployment, _: Means) -> Iterator[Change]:
    machine, used, label = now.machine, now.precision.math_of("linear"), "2:4 sparsity"
    times, bits = machine.sparse_multipliers.get(used), round(now.precision.weights.bits)
    if not times or times <= 1 or bits not in SPARSE_SHARE:
        why = (
            f"{machine.name} is not known to have a sparse {used} path"
            if bits in SPARSE_SHARE
            else "of 16- and 8-bit weights only"
        )
        yield Change(label, "weights", why_not=why)
        return
    name = f"{used} 2:4"
    roof = machine.compute(used)
    faster = replace(roof, id=f"{roof.id}/sparse", dtype=name, value=times * roof.value, best=None, note="2:4 sparse")
    thinner = replace(now.precision.weights, name=f"{now.precision.weights.name} 2:4", bits=bits * SPARSE_SHARE[bits])
    stored = replace(now.precision, weights=thinner, math={**now.precision.math, **dict.fromkeys(LINEAR, name)})
    there = replace(machine, ceilings=(*machine.ceilings, faster))
    note = "only a model pruned and trained for it keeps its quality"
    yield Change(label, "weights", replace(now, machine=there, precision=stored), note=note)


def _attention(now: Deployment, _: Means) -> Iterator[Change]:
    if now.model.choices.attention == "flash":
        yield Change("flash attention", "attention", why_not="attention is one fused kernel already")
        return
    fused = replace(now, model=rebuilt(now.model, attention="flash"))
    yield Change("flash attention", "attention", fused, activations=True, note="the scores stay on chip")


def _grouped(now: Deployment, _: Means) -> Iterator[Change]:
    heads, groups = now.model.letters.get("H"), now.model.letters.get("K")
    grouped = bool(heads and groups and heads > groups)
    why = (
        "the floor reads each key and value once for all query heads of its group; a kernel that does so once a head "
        f"is {heads / groups:g} times over it" if grouped and heads and groups else
        "each key and value is read once already, as each query head has its own: no kernel reads less, only a "
        "narrower cache or a model of grouped queries stores less"
    )  # fmt: skip
    yield Change("GQA-aware decode attention", "attention", why_not=why)


def _drafts(now: Deployment, means: Means) -> Iterator[Change]:
    label = f"speculative decoding, {DRAFTS} drafts at {percent(means.acceptance)} accepted"
    if now.tokens > 1:
        yield Change(label, "speculative", why_not="the step verifies drafts already")
        return
    after = replace(now, tokens=float(DRAFTS + 1), acceptance=means.acceptance)
    yield Change(label, "speculative", after, note="what drafting costs is not counted")


def _graphs(now: Deployment, _: Means) -> Iterator[Change]:
    cost = now.machine.find("launch", level="host")
    why = "the floor has no launches; what graphs remove is in the estimate of an eager engine"
    if cost:
        launches = sum(o.count * o.cost.launches for o in now.operators("decode"))
        saved = show(float(launches) * cost[0].floor_value, "s", 3)
        why = f"the floor has no launches; {launches:g} kernels a step cost the host {saved}, which graphs take away"
    yield Change("CUDA graphs", "graphs", why_not=why, without="host")


def _chunks(_now: Deployment, _: Means) -> Iterator[Change]:
    why = "it reads weights once more a chunk and does no less work: it bounds the pause that a prompt makes for others"
    yield Change("chunked prefill", "chunked", why_not=why)


def _tensor(now: Deployment, _: Means) -> Iterator[Change]:
    tp = int(now.how.get("tp", 1))
    for times in (2, 4, 8):
        label = f"tensor parallelism {tp * times}"
        yield _spread(now, label, "tp", tp=tp * times)


def _pipeline(now: Deployment, _: Means) -> Iterator[Change]:
    pp = 2 * int(now.how.get("pp", 1))
    yield _spread(
        now, f"pipeline of {pp} stages", "pp", pp=pp, microbatches=max(pp, int(now.how.get("microbatches", 1)))
    )


def _experts(now: Deployment, _: Means) -> Iterator[Change]:
    label = "expert parallelism"
    if "E" not in now.model.letters:
        yield Change(label, "ep", why_not="this model has no experts")
        return
    devices = int(now.how.get("tp", 1)) * int(now.how.get("dp", 1))
    if devices == 1 or int(now.how.get("ep", 1)) == devices:
        why = (
            "there is one device; it comes with more" if devices == 1 else "experts are spread over all devices already"
        )
        yield Change(label, "ep", why_not=why)
        return
    yield _spread(now, f"expert parallelism {devices}", "ep", ep=devices)


def _replicas(_now: Deployment, _: Means) -> Iterator[Change]:
    yield Change("replicas", "dp", why_not="each adds what one has: tokens/s a device and memory a device stay")


def _spread(now: Deployment, label: str, flag: str, **how: int) -> Change:
    more = {**now.how, **how}
    try:
        model = now.model if now.model.choices.links else rebuilt(now.model, links=True)
        after = replace(now, model=model, how=more)
        after.floor("decode")
    except RooflensError as reason:
        return Change(label, flag, why_not=str(reason))
    return Change(label, flag, after)


def _apart(now: Deployment, _: Means) -> Iterator[Change]:
    label = "prefill and decode on machines of their own"
    cache = float(now.model.kv_bytes(now.prompt, now.precision))
    links = now.machine.find("link", level="network") or now.machine.find("link")
    moved = f"; {show(cache, 'B')} of cache move once a prompt"
    if links:
        moved += f", {show(cache / links[0].floor_value, 's', 3)} over {links[0].level}"
    why = f"the floor of a decode step has no prompts in it: what this takes away is in the estimate{moved}"
    yield Change(label, "disaggregated", why_not=why, without="prompts")


def _machines(now: Deployment, means: Means) -> Iterator[Change]:
    for machine in means.machines:
        after = moved(now, machine)
        if isinstance(after, Deployment):
            yield Change(machine.title, "", after)
        else:
            yield Change(machine.title, "", why_not=after)


def moved(now: Deployment, machine: Machine) -> Deployment | str:
    """The same deployment on another machine, in the arithmetic that this one has; or why it cannot be."""
    try:
        found, _ = resolve(replace(now.precision, math={}), machine)
        after = replace(now, machine=machine, precision=found)
        after.floor("decode")
    except RooflensError as reason:
        return str(reason)
    return after
