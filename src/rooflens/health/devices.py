"""Rules about one device: its host link, power, clocks, memory errors, MIG, who is on it, what utilisation means."""

from __future__ import annotations

from collections.abc import Iterator

from rooflens.catalogue import Accelerator
from rooflens.health.record import Finding
from rooflens.health.sentences import finding
from rooflens.roofline.node import Gpu
from rooflens.roofline.wires import pcie_bytes_per_s
from rooflens.units import percent, show, show_binary

LOAD = 0.05  # utilisation under which a device counts as idle
FULL = 0.9  # of it, from which a low clock wants a reason
_HEAT = ("sw_thermal", "hw_thermal")
_LONG_S = 1.0  # throttled for less since the driver loaded is nothing
_HELD_BYTES = 1 << 30
SAME = 0.99  # of a limit, clock or rate: from here on it is the same
_LOST = ("err", "unknown error", "reset", "lost")


def device(gpu: Gpu, chip: Accelerator | None) -> Iterator[Finding]:
    """All of them. chip: what the catalogue knows of it."""
    for rules in (_lost, _power, _slowed, _clocks, _people, _use):
        yield from rules(gpu)
    for more in (_pcie, _errors, _mig):
        yield from more(gpu, chip)


def busy(gpu: Gpu, least: float = LOAD) -> bool | None:
    """Whether it was under load when it was looked at; None where nothing says so. A stale sample is none."""
    if gpu.reasons is not None and "idle" in gpu.reasons:
        return False
    if gpu.used_bytes == 0:
        return False
    if gpu.busy_share is None:
        return None
    return gpu.busy_share >= least


def _lost(gpu: Gpu) -> Iterator[Finding]:
    for name, said in gpu.absent.items():
        if any(word in said.lower() for word in _LOST):
            yield finding("lost", [gpu.index], field=name, said=said)
    if gpu.recovery:
        yield finding("recovery", [gpu.index], action=gpu.recovery)


def _pcie(gpu: Gpu, chip: Accelerator | None) -> Iterator[Finding]:
    link, loaded, who = gpu.pcie, busy(gpu), [gpu.index]
    lanes = _lanes(gpu, chip)
    if link.width and lanes and link.width < lanes:
        rule = "pcie_narrow" if loaded else "pcie_narrow_idle"
        times = f"{lanes / link.width:.3g}"
        figures = {"width": (link.width,), "max_width": (lanes,)}
        yield finding(rule, who, figures, width=link.width, all=lanes, times=times)
    if link.gen and link.max_gen and link.gen < link.max_gen:
        rule = {True: "pcie_slow", False: "pcie_idle", None: "pcie_unsure"}[loaded]
        now, then = (pcie_bytes_per_s(gen, link.max_width or 1) for gen in (link.gen, link.max_gen))
        slower = f"{then / now:.3g}" if now and then else None
        figures = {"gen": (link.gen,), "max_gen": (link.max_gen,)}
        yield finding(rule, who, figures, gen=link.gen, all=link.max_gen, times=slower)
    most = pcie_bytes_per_s(link.max_gen, lanes)
    whole = chip.pcie.bytes_per_s_per_direction if chip else None
    if chip and most and whole and most < SAME * whole:
        said = f"generation {chip.pcie.gen} x{chip.pcie.lanes}"
        yield finding("pcie_slot", who, gen=link.max_gen, width=lanes, chip=chip.name, all=said,
                      times=f"{whole / most:.3g}")  # fmt: skip


def _lanes(gpu: Gpu, chip: Accelerator | None) -> int | None:
    """The lanes that it can have: a tool may say those of the slot, of which the chip has fewer."""
    said, own = gpu.pcie.max_width, chip.pcie.lanes if chip else None
    return min(said, own) if said and own else said


def _power(gpu: Gpu) -> Iterator[Finding]:
    limit, default = gpu.power.limit_w, gpu.power.default_limit_w
    if limit and default and limit < SAME * default:
        figures = {"limit_w": (limit,), "default_limit_w": (default,)}
        yield finding("power_low", [gpu.index], figures, limit=show(limit, "W"), default=show(default, "W"),
                      watts=f"{default:g}")  # fmt: skip
    if gpu.reasons and "sw_power_cap" in gpu.reasons:
        yield finding("power_held", [gpu.index], _figures(gpu), share=_clock_share(gpu))


def _slowed(gpu: Gpu) -> Iterator[Finding]:
    reasons, who = gpu.reasons or (), [gpu.index]
    heat = [reason for reason in reasons if reason in _HEAT]
    share, figures = _clock_share(gpu), _figures(gpu)
    if heat:
        yield finding("hot", who, figures, reason=", ".join(heat), share=share)
    if "hw_power_brake" in reasons:
        yield finding("brake", who, figures, share=share)
    if "hw_slowdown" in reasons and not heat and "hw_power_brake" not in reasons:
        yield finding("slowed", who, figures, share=share)
    if "sync_boost" in reasons:
        yield finding("sync_boost", who)
    for reason, time_s in gpu.throttled_s.items():
        if reason in (*_HEAT, "hw_power_brake") and time_s >= _LONG_S and reason not in reasons:
            yield finding("was_slowed", who, {"throttled_s": (time_s,)}, reason=reason, time=show(time_s, "s"))


def _clocks(gpu: Gpu) -> Iterator[Finding]:
    now, who = gpu.clocks, [gpu.index]
    set_hz, most = now.application_sm_hz, now.max_sm_hz
    usual = now.default_application_sm_hz or most
    held = "applications_clocks" in (gpu.reasons or ())
    if most and set_hz and (held or (usual and set_hz < SAME * usual)) and set_hz < SAME * most:
        share = percent(set_hz / most)
        yield finding("app_clocks", who, _figures(gpu), clock=show(set_hz, "Hz"), all=show(most, "Hz"), share=share)
    elif now.sm_hz and most and now.sm_hz < FULL * most and gpu.reasons == () and busy(gpu, FULL):
        said = {"clock": show(now.sm_hz, "Hz"), "all": show(most, "Hz")}
        yield finding("clock_low", who, _figures(gpu), share=_clock_share(gpu), **said)
    memory, top = now.memory_hz, now.max_memory_hz
    if memory and top and busy(gpu) and memory < SAME * top:
        figures = {"memory_hz": (memory,), "max_memory_hz": (top,)}
        yield finding("memory_clock", who, figures, clock=show(memory, "Hz", 5), all=show(top, "Hz", 5),
                      share=percent(memory / top))  # fmt: skip


def _errors(gpu: Gpu, chip: Accelerator | None) -> Iterator[Finding]:
    found, who = gpu.errors, [gpu.index]
    if found.uncorrected_volatile:
        yield finding("ecc_now", who, count=found.uncorrected_volatile)
    elif found.uncorrected_aggregate:
        yield finding("ecc_ever", who, count=found.uncorrected_aggregate)
    if found.corrected_volatile:
        yield finding("ecc_fixed", who, count=found.corrected_volatile)
    if found.replaced:
        yield finding("replaced", who, count=found.replaced)
    if found.pending:
        yield finding("repair", who)
    if found.failed:
        yield finding("no_repair", who)
    if found.ecc is False and chip and (chip.memory.kind or "").lower().startswith("hbm"):
        yield finding("ecc_off", who)


def _mig(gpu: Gpu, chip: Accelerator | None) -> Iterator[Finding]:
    if not gpu.mig:
        return
    yield finding("mig", [gpu.index])
    if gpu.slices == ():
        yield finding("mig_empty", [gpu.index])
    for place, part in enumerate(gpu.slices or ()):
        name = part.profile or str(place if part.instance is None else part.instance)
        memory = show_binary(part.memory_bytes) if part.memory_bytes else None
        if part.sms and memory and chip and chip.unit_count:
            share = percent(part.sms / chip.unit_count)
            yield finding("slice", [gpu.index], {"sms": (part.sms,)}, instance=name, sms=part.sms, all=chip.unit_count,
                          memory=memory, share=share)  # fmt: skip
        elif part.sms and memory:
            yield finding("slice_bare", [gpu.index], {"sms": (part.sms,)}, instance=name, sms=part.sms, memory=memory)


def _people(gpu: Gpu) -> Iterator[Finding]:
    who = gpu.processes or ()
    if who:
        held = [one.memory_bytes for one in who if one.memory_bytes is not None]
        names = ", ".join(dict.fromkeys(one.name for one in who[:8]))
        memory = show_binary(sum(held)) if held else "?"
        yield finding("processes", [gpu.index], {"processes": (len(who),)}, count=len(who), memory=memory, names=names)
    elif gpu.processes == () and (gpu.used_bytes or 0) >= _HELD_BYTES:
        yield finding("hidden_process", [gpu.index], memory=show_binary(gpu.used_bytes or 0))


def _use(gpu: Gpu) -> Iterator[Finding]:
    if "busy_share" in gpu.absent:
        yield finding("no_busy", [gpu.index])
    elif gpu.busy_share and gpu.used_bytes == 0:
        yield finding("stale", [gpu.index], _figures(gpu), share=percent(gpu.busy_share))
    elif gpu.busy_share and gpu.busy_share >= LOAD:
        yield finding("busy", [gpu.index], _figures(gpu), share=percent(gpu.busy_share))


def _clock_share(gpu: Gpu) -> str | None:
    now, most = gpu.clocks.sm_hz, gpu.clocks.max_sm_hz
    return percent(now / most) if now and most else None


def _figures(gpu: Gpu) -> dict[str, tuple[float | int | str, ...]]:
    """What a reader of a file would look at, where it is known."""
    said = {
        "sm_hz": gpu.clocks.sm_hz, "max_sm_hz": gpu.clocks.max_sm_hz, "draw_w": gpu.power.draw_w,
        "limit_w": gpu.power.limit_w, "temperature_c": gpu.temperature_c, "memory_busy_share": gpu.memory_busy_share,
    }  # fmt: skip
    return {name: (value,) for name, value in said.items() if value is not None}
