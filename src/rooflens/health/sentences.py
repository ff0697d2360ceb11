"""Every sentence of the doctor, by rule: how bad, what is so, what it costs, what to do. English, as all data is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rooflens.health.record import Figure, Finding, Severity

WHAT: dict[str, str] = {
    # how devices are linked
    "nvlink": "GPU {gpus}: {links} NVLinks a device to the others, {rate} a direction",
    "nvlink_bare": "GPU {gpus}: {links} NVLinks a device to the others",
    "xgmi": "GPU {gpus}: XGMI between all, with no processor on the way",
    "nvlink_fewer": "GPU {gpus}: {links} NVLinks are up and {chip} has {all}: a link or a switch is down, or the chip "
    "is another variant",
    "nvlink_part": "GPU {gpus}: {links} of the {all} NVLinks of {chip} lead to the devices shown; the others may lead "
    "to devices that are not",
    "nvlink_uneven": "GPU {gpus}: {links} NVLinks are up, and other devices of this node have {all}",
    "nvlink_lost": "GPU {gpus}: no NVLink is up, and other devices of this node have {all}",
    "nvlink_none": "GPU {gpus}: no NVLink is shown and {chip} has {all}: the fabric is down, or the table is of topo "
    "-mp, which hides NVLink",
    "all_sys": "GPU {gpus}: SYS is shown even inside of a NUMA node: if the chip has NVLink, its fabric is down, or "
    "the table is of topo -mp, which hides NVLink",
    "hidden": "the table is of topo -mp, which hides NVLink: whether there is any is not known",
    "no_bridge": "GPU {gpus}: {chip} takes an NVLink bridge, and none is shown",
    "nvlink_stranger": "GPU {gpus}: NVLink is shown and {chip} has none: it is another chip",
    "islands": "NVLink joins GPU {islands}, and nothing between them",
    "detour": "GPU {gpus}: tensor parallelism over these takes {kind}, over GPU {better} it takes {best}",
    "pcie_only": "GPU {gpus}: no NVLink, they talk over PCIe ({kind})",
    "sockets": "GPU {gpus}: the path crosses the link between processors (SYS), whose rate no tool says",
    "hops": "GPU {gpus}: {hops} hops between some of them, which crosses the link between processors",
    "peers_off": "GPU {gpus}: peers may not reach each other ({state}), traffic is staged through host memory",
    "nic_near": "GPU {gpus}: a network card behind the same switch ({kind})",
    "nic_far": "GPU {gpus}: no network card is nearer than {kind}",
    "vm": "this is a virtual machine ({hypervisor}): paths between devices are what it shows, not what is there",
    "ports": "GPU {gpus}: all {all} NVLinks are active, a signal of {rate} a direction together",
    "port_down": "GPU {gpus}: {count} of {all} NVLinks are inactive ({ports})",
    "ports_down": "GPU {gpus}: all {all} NVLinks are inactive: no bridge, or no fabric",
    "port_slow": "GPU {gpus}: NVLinks run at different rates ({rates})",
    "fabric": "GPU {gpus}: the fabric of NVSwitches is not up ({state})",
    "no_topology": "how the {count} devices are linked is not known",
    # the devices
    "none": "0 devices observed: the driver answers and lists none",
    "lost": "GPU {gpus}: the device did not answer for {field} ({said})",
    "recovery": "GPU {gpus}: the driver asks for a recovery ({action})",
    "mixed": "devices of several kinds: {names}",
    "chip_unknown": "GPU {gpus}: {name} is not in the catalogue, so what it should have is not known",
    "pcie_narrow": "GPU {gpus}: PCIe runs {width} of {all} lanes under load",
    "pcie_narrow_idle": "GPU {gpus}: PCIe runs {width} of {all} lanes, read while idle",
    "pcie_idle": "GPU {gpus}: PCIe is at generation {gen} of {all} while idle: power saving, no fault",
    "pcie_slow": "GPU {gpus}: PCIe runs at generation {gen} of {all} under load",
    "pcie_unsure": "GPU {gpus}: PCIe is at generation {gen} of {all}, and whether it was busy is not known",
    "pcie_slot": "GPU {gpus}: this node gives PCIe generation {gen} x{width}, and {chip} has {all}",
    "power_low": "GPU {gpus}: the power limit is {limit}, its default {default}",
    "power_held": "GPU {gpus}: the power limit holds the clocks, which is normal under full load",
    "hot": "GPU {gpus}: slowed by heat ({reason})",
    "brake": "GPU {gpus}: slowed by the power brake, which the supply pulls",
    "slowed": "GPU {gpus}: slowed by hardware: heat, or the supply",
    "was_slowed": "GPU {gpus}: {reason} has held the clocks back for {time} since the driver loaded",
    "sync_boost": "GPU {gpus}: clocks follow the slowest device of a sync-boost group",
    "app_clocks": "GPU {gpus}: application clocks hold the SMs at {clock}, and {all} can be set",
    "clock_low": "GPU {gpus}: busy at {clock} of {all} and no reason given: locked clocks, or a light load",
    "memory_clock": "GPU {gpus}: under load the memory clock is {clock} of {all}",
    "ecc_now": "GPU {gpus}: {count} uncorrectable memory errors since the driver loaded",
    "ecc_ever": "GPU {gpus}: {count} uncorrectable memory errors in its life",
    "ecc_fixed": "GPU {gpus}: {count} memory errors were corrected since the driver loaded",
    "ecc_off": "GPU {gpus}: error correction is off",
    "replaced": "GPU {gpus}: {count} rows or pages of memory were replaced for errors",
    "repair": "GPU {gpus}: a repair of the memory waits for a reset",
    "no_repair": "GPU {gpus}: a repair of the memory failed",
    "mig": "GPU {gpus}: MIG is on: roofs, memory and utilisation of the whole card do not apply",
    "mig_empty": "GPU {gpus}: MIG is on and no instance is made: nothing can run",
    "slice": "GPU {gpus}: instance {instance} has {sms} of {all} SMs and {memory}",
    "slice_bare": "GPU {gpus}: instance {instance}: {sms} SMs, {memory}",
    "processes": "GPU {gpus}: {count} processes hold {memory} ({names})",
    "hidden_process": "GPU {gpus}: {memory} is held and no process is listed: another container's",
    "busy": "GPU {gpus}: utilisation {share} is the share of time in which any kernel ran: busy, not efficient",
    "stale": "GPU {gpus}: utilisation {share} while no memory is held is a stale sample, no load",
    "no_busy": "GPU {gpus}: the tools give no utilisation, which is unknown and not 0",
    "samples_held": "GPU {gpus}: the power limit held in {count} of {all} busy samples, which is normal under full "
    "load",
    "samples_hot": "GPU {gpus}: a thermal limit held in {count} of {all} samples",
    "samples_ecc": "GPU {gpus}: the monitor counts {count} uncorrectable memory errors",
    "quiet": "GPU {gpus}: no reason is shown that would hold the clocks back",
    # the host
    "memory_speed": "host memory is set to {speed} and rated {all}",
    "memory_roof": "host memory: {count} modules x {speed} x {bits} bits = {rate}, if each has a channel of its own",
    "memory_slots": "{count} of {all} memory slots are empty",
    "cpu_hidden": "the virtual machine does not say which processor this is ({cpu})",
    "cpu_cache": "the {bytes} of L3 may be shared with other virtual machines",
    "numa": "{count} NUMA nodes",
}
SEVERITY: dict[Severity, tuple[str, ...]] = {  # every other rule is a note
    "fault": (
        "nvlink_fewer", "nvlink_lost", "nvlink_none", "port_down", "fabric", "none", "lost", "recovery", "pcie_narrow",
        "pcie_slow", "hot", "brake", "slowed", "ecc_now", "repair", "no_repair", "samples_hot", "samples_ecc",
    ),
    "warning": (
        "nvlink_uneven", "all_sys", "nvlink_stranger", "detour", "sockets", "peers_off", "ports_down",
        "port_slow", "pcie_narrow_idle", "power_low", "was_slowed", "app_clocks", "ecc_ever", "replaced",
        "mig_empty", "memory_speed",
    ),
    "ok": (
        "nvlink", "nvlink_bare", "xgmi", "nic_near", "ports", "quiet",
    ),
}  # fmt: skip
COST: dict[str, str] = {
    "nvlink_fewer": "all-reduces take {times} times as long",
    "nvlink_uneven": "all-reduces take {times} times as long",
    "port_down": "all-reduces take {times} times as long",
    "detour": "all-reduces take {times} times as long",
    "nvlink_lost": "all-reduces over PCIe take at least {times} times as long",
    "nvlink_none": "all-reduces over PCIe take at least {times} times as long",
    "pcie_narrow": "what crosses PCIe takes {times} times as long",
    "pcie_narrow_idle": "what crosses PCIe takes {times} times as long",
    "pcie_slow": "what crosses PCIe takes {times} times as long",
    "pcie_slot": "what crosses PCIe takes {times} times as long",
    "peers_off": "each byte crosses PCIe twice and waits for the host",
    "nic_far": "what leaves the node goes through the processor",
    "power_low": "work bound by compute slows down, decode hardly does",
    "power_held": "the compute roof is at {share} of its peak",
    "hot": "the compute roof is at {share} of its peak",
    "slowed": "the compute roof is at {share} of its peak",
    "brake": "the compute roof is at {share} of its peak",
    "app_clocks": "the compute roof is at {share} of its peak",
    "clock_low": "the compute roof is at {share} of its peak",
    "memory_clock": "the memory roof is at {share} of its peak",
    "slice": "the compute roof is at {share} of the chip's",
    "processes": "who serves or measures beside them shares memory and time",
    "memory_speed": "the memory roof of the host is at {share} of its peak",
    "numa": "memory of another node is slower to reach",
}
NEXT: dict[str, str] = {
    "nvlink_fewer": "nvidia-smi nvlink -s and -e name the link, dmesg its Xid; then the fabric manager's log, a reseat",
    "nvlink_uneven": "nvidia-smi nvlink -s and -e name the link, dmesg its Xid; then the fabric manager's log, a "
    "reseat",
    "nvlink_lost": "nvidia-smi nvlink -s and -e name the link, dmesg its Xid; then the fabric manager's log, a reseat",
    "port_down": "nvidia-smi nvlink -s and -e name the link, dmesg its Xid; then the fabric manager's log, a reseat",
    "ports_down": "systemctl status nvidia-fabricmanager; it must be of the driver's version",
    "fabric": "systemctl status nvidia-fabricmanager; it must be of the driver's version",
    "nvlink_none": "read nvidia-smi topo -m and nvlink -s; then systemctl status nvidia-fabricmanager",
    "all_sys": "read nvidia-smi topo -m and nvlink -s; then systemctl status nvidia-fabricmanager",
    "hidden": "read nvidia-smi topo -m",
    "no_topology": "add nvidia-smi topo -m",
    "islands": "keep a tensor-parallel group inside of one",
    "detour": "start the engine with CUDA_VISIBLE_DEVICES={better}",
    "sockets": "keep a tensor-parallel group on one processor, of at most {most} devices here",
    "peers_off": "measure it: a driver or board that allows peers, or a smaller tensor-parallel group",
    "nic_far": "take the devices that have a near card for what talks to other nodes",
    "vm": "measure the link; a topology file for NCCL can say what the machine hides",
    "none": "lspci and dmesg; in a container, hand the devices in",
    "lost": "dmesg for Xid; reset the device or restart the node",
    "recovery": "drain the node, then do what it asks for",
    "chip_unknown": "name the chip: --on MACHINE",
    "pcie_narrow": "reseat the card, or move it to a slot with all lanes",
    "pcie_narrow_idle": "read it again under load; then reseat the card",
    "pcie_idle": "read it again under load",
    "pcie_unsure": "read it again under load",
    "pcie_slow": "reseat the card or its riser; see the link speed in the firmware's settings",
    "power_low": "nvidia-smi -pl {watts}, where supply and cooling allow it",
    "hot": "airflow, inlet temperature, fans, heat sink",
    "slowed": "airflow and supply; nvidia-smi -q -d PERFORMANCE tells them apart",
    "brake": "the supply and its cables",
    "was_slowed": "watch the temperature under load; airflow, fans, supply",
    "app_clocks": "nvidia-smi -rac",
    "clock_low": "nvidia-smi -rgc, then read it again under full load",
    "ecc_now": "drain the node, reset the device, run the maker's diagnostics",
    "samples_ecc": "drain the node, reset the device, run the maker's diagnostics",
    "ecc_ever": "watch whether the count grows",
    "replaced": "watch whether the count grows",
    "repair": "drain the node and reset the device",
    "no_repair": "have the card replaced",
    "mig": "take the SMs and the memory of the instance",
    "mig_empty": "nvidia-smi mig -cgi PROFILE -C makes one; nvidia-smi -mig 0 leaves MIG",
    "busy": "tensor and DRAM activity counters, or a profile, say how well: rooflens kernels",
    "stale": "read it again",
    "samples_hot": "airflow, inlet temperature, fans, heat sink",
    "memory_speed": "the memory settings of the firmware; more modules a channel run slower",
    "memory_slots": "fill one module a channel before a second one",
    "cpu_hidden": "its peak needs a measured clock: rooflens measure",
    "cpu_cache": "measure memory with arrays several times as large",
    "numa": "measure and bind each node alone",
}

CONVENTIONS = {
    "allreduce": "all-reduces of one token in a decode step at batch 1: the fewest bytes over the rate; "
    "what they wait beside it is latency",
    "rates": "one direction of one device: its NVLinks x the stated rate of one; PCIe at the lanes found and its "
    "largest generation, the most that a path over processors (SYS) carries, not what it does",
    "unknown": "what no file says is absent; 0 is an answer",
}
NO_COST = {
    "topology": "what all-reduces cost is not known: no file says how the devices are linked",
    "route": "what all-reduces cost is not known: there are fewer devices than share a layer",
    "chip": "what all-reduces cost is not known: no file says which chip this is, name it with --on MACHINE",
    "rate": "what all-reduces cost here is not known: the path or its rate is not",
}


def finding(
    rule: str,
    gpus: Iterable[int] = (),
    figures: Mapping[str, tuple[Figure, ...]] | None = None,
    **values: object,
) -> Finding:
    """One finding of this rule; its cost is said where all that it names is known (not None)."""
    who = tuple(sorted(gpus))
    known = {name: value for name, value in values.items() if value is not None} | {"gpus": numbers(who)}
    severity: Severity = next((level for level, rules in SEVERITY.items() if rule in rules), "note")
    return Finding(rule, severity, WHAT[rule].format(**known), who, _said(COST, rule, known), _said(NEXT, rule, known),
                   figures or {})  # fmt: skip


def numbers(gpus: Iterable[int]) -> str:
    """ "0-3, 6": ranges of three or more."""
    runs: list[list[int]] = []
    for index in sorted(gpus):
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    said = (f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
    return ", ".join(said)


def _said(book: Mapping[str, str], rule: str, known: Mapping[str, object]) -> str | None:
    try:
        return book[rule].format(**known) if rule in book else None
    except KeyError:
        return None
