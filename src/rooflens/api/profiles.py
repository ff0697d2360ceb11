"""What profilers and benchmarks said, read and set against a machine: as `kernels` and `bench` print it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rooflens import api, readers
from rooflens.accounting.comparing import Comparison, compared
from rooflens.accounting.layers import layered, set_against
from rooflens.accounting.record import Account, Layered
from rooflens.accounting.run import account
from rooflens.catalogue import Accelerator, accelerator, built_alike
from rooflens.catalogue.calibrations import stack
from rooflens.errors import RooflensError, Unknown
from rooflens.models import Model
from rooflens.models.lengths import holds
from rooflens.records import fields, record, replace
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.machines import from_accelerator
from rooflens.roofline.observed import Observed
from rooflens.roofline.points import is_finding
from rooflens.roofline.price import price_step
from rooflens.units import show

MOST_COPIES = 6  # kinds of copies that a sentence names


@record
class Read:
    """An account with what it was made of, for --plot."""

    account: Account
    machine: Machine


def kernels(
    file: str | Path | Observed, on: str | Machine | None = None, *, model: str | None = None, **asked: Any
) -> Account:
    """Where the time of a profiler's file went: each kernel under the roof that applies, and what ran none.

    on: a machine as everywhere; None: the device that the file itself names, where that is one of the catalogue.
    model: whose layers are looked for in the order of the kernels; `asked` are fields of api.Question for their floors.
    Raises BadFile for a file that no reader knows, RooflensError where it names no device and `on` is not given, or for
    a step without a model.
    """
    return read(file, on, model=model, **asked).account


def read(
    file: str | Path | Observed, on: str | Machine | None = None, *, model: str | None = None, **asked: Any
) -> Read:
    """`kernels` with its ingredients."""
    _only_of_steps(model, asked)
    seen = observed(file)
    machine = there(seen, on)
    found = _account(seen, machine)
    if model is not None:
        found = _with_layers(found, seen, machine, api.Question(model, **asked))
    return Read(found, machine)


def compare(
    before: str | Path, after: str | Path, on: str | Machine | None = None, *, tolerance: float | None = None
) -> Comparison:
    """Two runs, kernel by kernel: what moved and why. tolerance: a share. Raises as `kernels` does."""
    if tolerance is not None:
        _share(tolerance)
    found = [(seen, there(seen, on)) for seen in (observed(before), observed(after))]
    old, new = (_account(seen, machine) for seen, machine in found)
    moved = compared(old, new) if tolerance is None else compared(old, new, tolerance)
    said = [(*machine.assumptions, *_strangers(seen, machine)) for seen, machine in found]
    return replace(moved, notes=(*dict.fromkeys(note for one in said for note in one), *moved.notes))


def _share(tolerance: object) -> None:
    if not (isinstance(tolerance, (int, float)) and 0 <= tolerance <= 1):
        raise RooflensError(f"tolerance: expected a share between 0 and 1, found {tolerance!r}")


def observed(file: str | Path | Observed) -> Observed:
    """All that a profiler's or a benchmark's file says, of any kind that is known. Raises BadFile, RooflensError.

    What was read before is taken as it is.
    """
    if isinstance(file, Observed):
        return file
    if not isinstance(file, (str, Path)):
        raise RooflensError(f"expected the path of a file, found {file!r}")
    return readers.observed(Path(file))


def there(seen: Observed, on: str | Machine | None) -> Machine:
    """The machine that `on` names, or the one that the file names itself.

    Raises RooflensError where neither does, Unknown for a name that fits none or several.
    """
    if isinstance(on, Machine):
        return on
    if on is not None:
        return named_machine(on)
    named = {device.name: device.memory_bytes for device in seen.devices if device.name}
    if len(named) != 1:
        what = "no device" if not named else "several devices"
        raise RooflensError(f"{seen.where} names {what}; say whose roofs apply with --on MACHINE")
    ((name, memory_bytes),) = named.items()
    try:
        return from_accelerator(accelerator(name, memory_bytes))
    except Unknown as why:
        said = f"{seen.where} says {name!r}: {why}{_alike(seen)}; say whose roofs apply with --on MACHINE"
        raise RooflensError(said) from None


def _alike(seen: Observed) -> str:
    """Chips that are built as the device is that the file names, where it says enough for that."""
    one = seen.devices[0]
    if one.compute_capability is None or one.units is None or one.memory_bytes is None:
        return ""
    found = built_alike(one.compute_capability, one.units, one.memory_bytes)
    return f"; its {one.units} units of {one.compute_capability} are those of {', '.join(found)}" if found else ""


def named_machine(on: str | Machine) -> Machine:
    """What `on` names. Raises RooflensError for what is neither a name nor a machine."""
    if not isinstance(on, (str, Machine)):
        raise RooflensError(f"on: expected the name of a machine, or one, found {on!r}")
    return api.machine(on) if isinstance(on, str) else on


def stranger(own: Accelerator, there: Machine) -> str | None:
    """What must be said where a file is of another chip than the one whose roofs apply.

    A machine that was measured or written by a person has the name that a driver prints; it is looked up whole.
    """
    mine, alike = own.name or own.id, [there.title]
    with suppress(RooflensError):
        alike.append(accelerator(there.title, there.memory_bytes).name or "")
    return None if mine in alike else f"the file is of {mine}, the roofs are those of {there.title}"


def _only_of_steps(model: str | None, asked: Mapping[str, Any]) -> None:
    known = [field.name for field in fields(api.Question) if field.name != "what"]
    for name in asked:
        if name not in known:
            raise Unknown("argument", name, known)
        if model is None:
            raise RooflensError(f"{name} says what step a model ran; name the model")


def _with_layers(found: Account, seen: Observed, machine: Machine, question: api.Question) -> Account:
    """The account with the model's layers; a note where none were found."""
    built, *_ = api.prepared(question, machine)
    layers, batch = int(built.letters["L"]), question.batch
    steps = layered(seen, layers, float(built.letters["D"]), float(built.letters["V"]))
    if not steps:
        why = f"no stretch of kernels stands {layers} times in a row, as the layers of {built.name} would"
        return replace(found, notes=(*found.notes, why))
    floored = tuple(_floored(one, built, batch, machine, question) for one in steps)
    return replace(found, layers=floored, notes=(*found.notes, *_doubted(floored, built.name, batch)))


def _doubted(steps: Sequence[Layered], model: str, batch: float) -> Iterator[str]:
    """What was taken for granted, and what speaks against the model or the step that was named."""
    if any(one.width_fits is False for one in steps):
        yield f"products of these layers read rows of another width than those of {model}: it is another model"
    for one in steps:
        if one.floor_s is None and one.tokens is not None:
            yield f"a step of {one.tokens:g} tokens is of another batch than {batch:g}: its floor is not known"
        elif one.phase == "prefill" and one.tokens is not None:
            prompt = f"{one.tokens / batch:g} tokens a sequence at batch {batch:g}"
            yield f"a step of {one.tokens:g} tokens is taken as the prefill of {prompt}"
        if one.share_of_floor is not None and is_finding(one.share_of_floor) and one.floor_s is not None:
            yield (
                f"a layer took {show(one.layer_s, 's')}, under its floor of {show(one.floor_s, 's')}: suspect another "
                f"model than {model}, other formats, a smaller batch or context, or devices that share it (--tp)"
            )


def _floored(one: Layered, built: Model, batch: float, machine: Machine, question: api.Question) -> Layered:
    """One kind of step with its floor: decode where it has a token a sequence, else the prefill of so many."""
    step = question
    if one.width_fits is False:
        return one
    if one.tokens is not None and one.tokens != batch:
        each = one.tokens / batch
        if each < 1 or each % 1 or not holds(built, each):
            return one  # a step of another batch than the one that was named: nobody knows its floor
        step = replace(question, phase="prefill", prompt=each, context=None, output=None)
    elif one.tokens is not None:
        step = replace(question, phase="decode", prompt=None) if question.phase == "prefill" else question
    answered = api.answer(step, machine)
    price = price_step(answered.operators, answered.machine, activations=False)
    return set_against(one, step.phase, answered.operators, price, int(built.letters["L"]))


def _account(seen: Observed, machine: Machine) -> Account:
    if not seen.kernels:
        raise RooflensError(f"{seen.where}: {'; '.join(_without_kernels(seen))}")
    assumed_s = 0.0 if machine.launch_s() else stack().kernel_s
    found = account(seen, machine, machine.launch_s() or assumed_s, tuple(_strangers(seen, machine)))
    if assumed_s and any(kernel.regime == "launch" for kernel in found.kernels):
        said = f"launch-bound: under twice {show(assumed_s, 's')}, a small kernel on one H200; measure this machine"
        found = replace(found, notes=(*found.notes, said))
    return found


def _without_kernels(seen: Observed) -> Iterator[str]:
    """What a file holds that holds no kernels."""
    yield from seen.warnings or ("no kernels are in it",)
    if seen.copies:
        moved = [
            f"{c.calls} {c.what}" + (f" of {show(c.bytes, 'B')}" if c.bytes is not None else "") for c in seen.copies
        ]
        yield f"it holds copies alone: {', '.join(moved[:MOST_COPIES])}"
    if seen.points:
        yield "it holds results of a benchmark: rooflens bench"


def _strangers(seen: Observed, machine: Machine) -> Iterator[str]:
    """Devices of the file that are, or may be, another chip than the one whose roofs were asked for, each once."""
    for name, memory_bytes in dict.fromkeys((device.name, device.memory_bytes) for device in seen.devices):
        if name is None or name == machine.title:
            continue
        try:
            said = stranger(accelerator(name, memory_bytes), machine)
        except Unknown:
            size = f" ({show(memory_bytes, 'B')})" if memory_bytes is not None else ""
            said = (
                f"the file's device, {name!r}{size}, is none of the catalogue: the roofs are those of {machine.title}"
            )
        if said is not None:
            yield said
