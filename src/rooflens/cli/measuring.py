"""What `lab` and `measure` share: the backend, its options, and the last trusted profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import click

from rooflens import artefacts
from rooflens.cli.linking import LINKS_PART, linked
from rooflens.cli.options import F, Finite, Named
from rooflens.cli.printing import say
from rooflens.errors import RooflensError
from rooflens.records import replace
from rooflens.roofline.profile import SCHEMA, Profile

KINDS, NUMBERED = ("auto", "cpu", "cuda", "rocm", "xpu", "mps"), ("cuda", "rocm", "xpu")
MADE_UP = "simulated:"  # how the notes of a device that nobody has begin
FIRST_PART = 0.35  # of the time, where all devices are measured at once before one of them alone


@dataclass(slots=True)
class Kept:
    """The profile so far, for whoever is interrupted."""

    profile: Profile | None = None


def measuring_options(function: F) -> F:
    """--device, --all-devices, --links, --quick, --full, --seed, --budget-s, --dtypes, and the MiniGPT's."""
    for option in (
        click.option(
            "--device", default="auto", show_default=True, help="cpu, cuda[:N], rocm[:N], xpu[:N], mps; auto."
        ),
        click.option("--all-devices", is_flag=True, help="Also all GPUs at the same time, each with its own figures."),
        click.option("--links", is_flag=True, help="Also links: copies between all GPUs, collectives, by size."),
        click.option("--quick", is_flag=True, help="A shorter look: short rests and runs, nothing tried twice."),
        click.option("--full", is_flag=True, help="As long as it takes, on a GPU: every dtype settled, every cell."),
        click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the random data."),
        click.option("--budget-s", type=Finite(), help="Stop cleanly after this many seconds, with what was measured."),
        click.option("--dtypes", help="Only these products: fp32,fp64,bf16,fp16,int8."),
        click.option(
            "--layers", type=click.IntRange(1, 1 << 16), default=6, show_default=True, help="Layers of the MiniGPT."
        ),
        click.option(
            "--width", type=click.IntRange(1, 1 << 16), default=384, show_default=True, help="Width of the MiniGPT."
        ),
        click.option(
            "--heads", type=click.IntRange(1, 1 << 16), default=6, show_default=True, help="Heads of the MiniGPT."
        ),
        click.option("--checkpoint", type=Named(), help="Weights of the MiniGPT from this .safetensors file."),
        click.option(
            "--wait-s",
            type=Finite(0),
            default=1800,
            show_default=True,
            help="Wait so long while another measurement runs on this machine; 0 refuses at once.",
        ),
    )[::-1]:
        function = option(function)
    return function


@contextmanager
def turn(measuring: dict[str, Any]) -> Iterator[str]:
    """This machine for ourselves, until what was measured is kept; yields who had to be waited for, "" for nobody.

    Raises RooflensError when somebody else still measures after --wait-s, and for options that contradict each other.
    """
    from rooflens.measure.lock import alone

    if measuring["quick"] and measuring["full"]:
        raise RooflensError("--quick and --full contradict each other; give one of them")
    fake = _fake(measuring["device"])
    kind = "cuda" if fake else _named(measuring["device"])[0]
    if measuring["all_devices"] and kind not in ("auto", "cuda"):
        raise RooflensError("--all-devices compares NVIDIA GPUs; leave it out, or name one with --device cuda:N")
    with alone(measuring["wait_s"], _waiting, fake.node if fake else "") as before:
        yield str(before or "")


def _fake(device: str) -> Any:
    """The made-up node that a device names, which is no part of this machine; None for any other device."""
    if not device.startswith("fake"):
        return None
    from rooflens.fleet.measuring.fakes import FAKE, is_fake, parsed

    return parsed(device.removeprefix(FAKE).removeprefix(":")) if is_fake(device) else None


def _waiting(holder: Any) -> None:
    from rooflens.present import words

    context = click.get_current_context(silent=True)
    say(words.say("measure.waiting", context.params["lang"] if context else "en", who=holder))


def profile_of(measuring: dict[str, Any], progress: Callable[[str, float], None], kept: Kept) -> Profile:
    """Measures this machine and asks its tools, in our turn. `kept` always holds all that is complete."""
    from rooflens.lab.asked import with_node

    if fake := _fake(measuring["device"]):
        from rooflens.fleet.measuring.fakes import made_up

        how = {"everything": measuring["all_devices"], "quick": not measuring["full"]}
        profile = made_up(fake, measuring["seed"], progress, **how)
        more = ("links skipped: those of a made-up node are not measured",) if measuring["links"] else ()
        return replace(profile, skipped=(*profile.skipped, *more))
    measured, links = _everywhere if measuring["all_devices"] else _one, measuring["links"]
    budget_s, part = measuring["budget_s"], 1 - LINKS_PART if links else 1.0
    first = {**measuring, "budget_s": budget_s and part * budget_s}
    profile = with_node(measured(first, lambda n, f: progress(n, part * f), kept))
    if not links:
        return profile
    kept.profile = replace(profile, skipped=(*profile.skipped, "links skipped: stopped before they were measured"))
    options = _options(measuring, "cuda" if profile.device.kind == "gpu" else "cpu")
    return linked(profile, options, lambda n, f: progress(n, part + (1 - part) * f))


def _one(measuring: dict[str, Any], progress: Callable[[str, float], None], kept: Kept) -> Profile:
    """The device of --device, alone."""
    from rooflens.lab.take import take
    from rooflens.measure.backend import AttentionShape
    from rooflens.measure.backends.checkpoint import query_weights

    backend = _backend(measuring["device"])
    for reason in backend.usage().others:
        say(f"{reason}: what is measured beside it is not trusted; end it, or choose another device")
    options = _options(measuring, backend.name)
    shape = AttentionShape(
        measuring["layers"], measuring["width"], measuring["heads"], checkpoint=str(measuring["checkpoint"] or "")
    )

    if shape.checkpoint:
        query_weights(shape.checkpoint, shape)  # a file that cannot be used is said now, not after a minute

    def hold(profile: Profile) -> None:
        kept.profile = profile

    try:
        return take(backend, options, shape, progress, hold)
    finally:
        backend.close()


def _everywhere(measuring: dict[str, Any], progress: Callable[[str, float], None], kept: Kept) -> Profile:
    """All GPUs at once, then the one of --device as ever, then the links that it is not part of.

    Where there are not two of them the one of --device alone, and that is said: one command line serves all nodes.
    """
    from rooflens.measure.backends.cuda import CudaBackend, device_count
    from rooflens.measure.together import measure_together, other_pairs, with_all

    count, (_, own) = device_count(), _named(measuring["device"])
    if count < 2:
        alone = _one(measuring, progress, kept)
        said = f"all devices at once skipped: CUDA sees {count} here, and two or more are compared"
        return replace(alone, skipped=(*alone.skipped, said))
    options, budget_s = _options(measuring, "cuda"), measuring["budget_s"]
    first = replace(options, budget_s=budget_s and FIRST_PART * budget_s)
    names = {number: f"cuda:{number}" for number in range(count)}
    profiles, failed = measure_together(CudaBackend, names, first, lambda n, f: progress(n, FIRST_PART * f))
    rest = {**measuring, "budget_s": budget_s and (1 - FIRST_PART) * budget_s}
    profile = _one(rest, lambda n, f: progress(n, FIRST_PART + (1 - FIRST_PART) * f), kept)
    pairs = list(other_pairs(CudaBackend, own, range(count), options))
    return with_all(profile, profiles, failed, pairs)


def _named(device: str) -> tuple[str, int]:
    """Kind and number of `cuda:1`. Raises Unknown for a name that no backend goes by."""
    kind, colon, number = device.partition(":")
    if kind not in KINDS or (colon and not (number.isdigit() and kind in NUMBERED)):
        from rooflens.errors import Unknown

        raise Unknown("device", device, (*KINDS, *(f"{name}:0" for name in NUMBERED)))
    return kind, int(number or 0)


def _backend(device: str) -> Any:
    """The backend of a device's name; auto is the first GPU that can be used, else the processor."""
    from rooflens.measure.backends.cpu import CpuBackend
    from rooflens.measure.backends.torch_gpu import TorchBackend

    kind, index = _named(device)
    if kind == "cpu":
        return CpuBackend()
    if kind == "auto":
        return _first_found()
    if kind == "cuda":
        return _cuda(index)
    return _usable(TorchBackend("cuda" if kind == "rocm" else kind, index), device)


def _cuda(index: int) -> Any:
    """Through CuPy; where that cannot be used, through torch, aloud. Raises RooflensError when neither can."""
    from rooflens.measure.backends import cuda
    from rooflens.measure.backends.torch_gpu import TorchBackend

    backend, other = cuda.CudaBackend(index), TorchBackend("cuda", index)
    reason = backend.why_not()
    if not reason:
        return backend
    if nor := other.why_not():
        raise RooflensError(f"cuda:{index} cannot be measured: {reason}; nor through torch: {nor}")
    say(f"measuring cuda:{index} through torch: {reason}")
    return other


def _first_found() -> Any:
    """An NVIDIA card through CuPy, any GPU through torch, or the processor with the reason why no GPU."""
    from importlib.util import find_spec

    from rooflens.measure.backends import cuda
    from rooflens.measure.backends.cpu import CpuBackend
    from rooflens.measure.backends.torch_gpu import TorchBackend, torch_kind

    reason = ""
    if find_spec("cupy") is not None:
        backend = cuda.CudaBackend(0)
        reason = backend.why_not()
        if not reason:
            return backend
    kind = torch_kind()
    if kind and not TorchBackend(kind).why_not():
        return TorchBackend(kind)
    if reason:
        say(f"measuring the processor: {reason}")
    return CpuBackend()


def _usable(backend: Any, device: str) -> Any:
    if reason := backend.why_not():
        raise RooflensError(f"{device} cannot be measured: {reason}")
    return backend


def _options(measuring: dict[str, Any], backend: str) -> Any:
    from rooflens.measure.options import DTYPES, GPU_DTYPES, Options, gpu, quick

    known = {"seed": measuring["seed"], "budget_s": measuring["budget_s"]}
    dtypes: tuple[str, ...] = DTYPES
    options = (quick if measuring["quick"] else Options)(**known)
    if backend in ("cuda", "torch"):
        options, dtypes = gpu(**known, quick=measuring["quick"], full=measuring["full"]), GPU_DTYPES
    return _only(options, measuring["dtypes"], dtypes) if measuring["dtypes"] is not None else options


def _only(options: Any, text: str, known: tuple[str, ...]) -> Any:
    from rooflens.errors import Unknown
    from rooflens.records import replace

    wanted = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for name in wanted:
        if name not in known:
            raise Unknown("dtype to measure", name, known, f"--dtypes takes {', '.join(known)}")
    return replace(options, dtypes=wanted)


def remember(profile: Profile) -> None:
    """Keeps a complete, undisturbed profile as `here`; a home that cannot be written is no reason to fail."""
    made_up = any(note.startswith(MADE_UP) for note in profile.notes)
    if not profile.complete or profile.contention or made_up:
        return
    with suppress(RooflensError):
        artefacts.write_json(artefacts.here(), profile, SCHEMA)
        return
    say("this profile could not be kept as `here`: the home folder cannot be written")
