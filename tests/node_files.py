"""What tools print about nodes, small and made up: layouts as drivers write them, names and figures our own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rooflens.readers.nodes import from_text
from rooflens.roofline.node import Node

ANSI = "\x1b[4m{}\x1b[0m"
COLUMNS = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")
LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NV#  = Connection traversing a bonded set of # NVLinks
"""


def read(text: str) -> Node:
    """What the readers say of this text."""
    return from_text(text, "made-up.txt")


def matrix(
    rows: Sequence[str],
    tails: Sequence[str] | None = None,
    cards: Sequence[str] = (),
    *,
    columns: Sequence[str] = COLUMNS,
    spaces: bool = False,
    header: str = "{}",
) -> str:
    """topo -m: rows of cells as words, device rows first; a tail is "CPUS NUMA ID" by words, "-" where it is empty."""
    devices = len(rows) - len(cards)
    names = [*(f"GPU{i}" for i in range(devices)), *cards]
    head = [*names, *columns]
    lines = [" " * 8 + "".join(name.ljust(8) for name in head)] if spaces else ["\t" + header.format("\t".join(head))]
    for place, (name, row) in enumerate(zip(names, rows, strict=True)):
        cells = [" X " if cell == "X" else cell for cell in row.split()]
        tail = tails[place].split() if tails and place < devices else []
        tail = ["" if word == "-" else word for word in tail]
        if len(tail) == 3 and not spaces:
            tail.insert(2, "")  # drivers write two tabs before the last column
        if spaces:
            lines.append(name.ljust(8) + "".join(cell.ljust(max(8, len(cell) + 2)) for cell in [*cells, *tail]))
        else:
            lines.append("\t".join([name, *cells, *tail]))
    return "\n".join(lines) + "\n"


def full(devices: int, cell: str) -> list[str]:
    """Rows in which every pair is the same."""
    return [" ".join("X" if a == b else cell for b in range(devices)) for a in range(devices)]


def halves(devices: int, near: str, far: str) -> list[str]:
    """Rows of two groups."""
    half = devices // 2
    return [
        " ".join("X" if a == b else near if a // half == b // half else far for b in range(devices))
        for a in range(devices)
    ]


def rocm(
    kind: Callable[[int, int], str], hops: Callable[[int, int], int], devices: int, numa: str = "GPU[{}]\t\t"
) -> str:
    """rocm-smi --showtopo."""

    def table(title: str, cell: Callable[[int, int], object]) -> str:
        names = [f"GPU{i}" for i in range(devices)]
        rows = ["".join(f"{0 if a == b else cell(a, b)!s:<13}" for b in range(devices)) for a in range(devices)]
        body = "\n".join(f"{name:<7}{row}" for name, row in zip(names, rows, strict=True))
        return f"====== {title} between two GPUs ======\n       {'         '.join(names)}\n{body}\n\n"

    nodes = "".join(f"{numa.format(i)}: (Topology) Numa Node: {2 * i // devices}\n" for i in range(devices))
    return (
        "====== ROCm System Management Interface ======\nWARNING: AMD GPU device(s) is/are in a low-power state\n\n"
        + table("Weight", lambda a, b: 15 if hops(a, b) == 1 else 52)
        + table("Hops", hops)
        + table("Link Type", kind)
        + f"====== Numa Nodes ======\n{nodes}====== End of ROCm SMI Log ======\n"
    )


QUERY = {
    "index": "0", "name": "NVIDIA H100 80GB HBM3", "pstate": "P0", "mig.mode.current": "Disabled",
    "ecc.mode.current": "Enabled", "utilization.gpu [%]": "0 %", "utilization.memory [%]": "0 %",
    "memory.total [MiB]": "81559 MiB", "memory.used [MiB]": "0 MiB", "clocks.current.sm [MHz]": "345 MHz",
    "clocks.max.sm [MHz]": "1980 MHz", "clocks.current.memory [MHz]": "2619 MHz",
    "clocks.max.memory [MHz]": "2619 MHz", "power.draw [W]": "69.50 W", "power.limit [W]": "700.00 W",
    "power.default_limit [W]": "700.00 W", "pcie.link.gen.current": "5", "pcie.link.gen.max": "5",
    "pcie.link.width.current": "16", "pcie.link.width.max": "16", "clocks_event_reasons.active": "0x0000000000000001",
    "temperature.gpu": "41", "temperature.memory": "48", "fabric.state": "Completed",
}  # fmt: skip
LOADED = {
    "utilization.gpu [%]": "100 %", "utilization.memory [%]": "11 %", "memory.used [MiB]": "19818 MiB",
    "clocks.current.sm [MHz]": "1980 MHz", "power.draw [W]": "631.95 W",
    "clocks_event_reasons.active": "0x0000000000000000",
}  # fmt: skip


def query(*devices: dict[str, str]) -> str:
    """--query-gpu as CSV: one line a device, each as QUERY with changes."""
    rows = [QUERY | {"index": str(i)} | device for i, device in enumerate(devices or ({},))]
    return "\n".join([", ".join(rows[0]), *(", ".join(row.values()) for row in rows)]) + "\n"


def xml(inside: str, gpus: int = 1, top: str = "") -> str:
    """-q -x with the same inside for each device."""
    devices = "".join(f'\t<gpu id="00000000:{i:02X}:00.0">{inside}</gpu>\n' for i in range(gpus))
    return (
        '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">\n<nvidia_smi_log>\n'
        f"\t<driver_version>580.1</driver_version>\n\t<attached_gpus>{gpus}</attached_gpus>{top}\n{devices}</nvidia_smi_log>\n"
    )


H200 = """
<product_name>NVIDIA H200</product_name>
<mig_mode><current_mig>Disabled</current_mig></mig_mode><mig_devices>None</mig_devices>
<gpu_virtualization_mode><virtualization_mode>Pass-Through</virtualization_mode></gpu_virtualization_mode>
<pci><pci_gpu_link_info>
<pcie_gen><max_link_gen>5</max_link_gen><current_link_gen>5</current_link_gen><max_host_link_gen>N/A</max_host_link_gen></pcie_gen>
<link_widths><max_link_width>16x</max_link_width><current_link_width>16x</current_link_width></link_widths>
</pci_gpu_link_info></pci>
<performance_state>P0</performance_state>
<clocks_event_reasons><clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>
<clocks_event_reason_sw_power_cap>Not Active</clocks_event_reason_sw_power_cap></clocks_event_reasons>
<clocks_event_reasons_counters>
<clocks_event_reasons_counters_sw_therm_slowdown>0 us</clocks_event_reasons_counters_sw_therm_slowdown>
</clocks_event_reasons_counters>
<fb_memory_usage><total>143771 MiB</total><reserved>616 MiB</reserved>
<used>0 MiB</used><free>143156 MiB</free></fb_memory_usage>
<bar1_memory_usage><total>262144 MiB</total><used>1 MiB</used></bar1_memory_usage>
<cc_protected_memory_usage><total>0 MiB</total></cc_protected_memory_usage>
<utilization><gpu_util>0 %</gpu_util><memory_util>0 %</memory_util></utilization>
<ecc_mode><current_ecc>Enabled</current_ecc></ecc_mode>
<ecc_errors><volatile><sram_correctable>0</sram_correctable><dram_correctable>2</dram_correctable>
<dram_uncorrectable>0</dram_uncorrectable></volatile>
<aggregate><dram_uncorrectable>1</dram_uncorrectable><sram_uncorrectable_secded>2</sram_uncorrectable_secded></aggregate></ecc_errors>
<remapped_rows><remapped_row_unc>1</remapped_row_unc><remapped_row_pending>No</remapped_row_pending>
<remapped_row_failure>No</remapped_row_failure></remapped_rows>
<gpu_power_readings><average_power_draw>126.28 W</average_power_draw><current_power_limit>700.00 W</current_power_limit>
<default_power_limit>700.00 W</default_power_limit><max_power_limit>700.00 W</max_power_limit></gpu_power_readings>
<module_power_readings><average_power_draw>N/A</average_power_draw></module_power_readings>
<clocks><graphics_clock>1980 MHz</graphics_clock><sm_clock>1980 MHz</sm_clock><mem_clock>3201 MHz</mem_clock></clocks>
<deferred_clocks><mem_clock>N/A</mem_clock></deferred_clocks>
<max_clocks><sm_clock>1980 MHz</sm_clock><mem_clock>3201 MHz</mem_clock></max_clocks>
<processes></processes>
"""
TURING = """
<product_name>NVIDIA GeForce RTX 2080 Ti</product_name>
<fb_memory_usage><total>11264 MiB</total><used>3379 MiB</used></fb_memory_usage>
<bar1_memory_usage><total>256 MiB</total></bar1_memory_usage>
<ecc_mode><current_ecc>N/A</current_ecc></ecc_mode>
<power_readings><power_draw>230.00 W</power_draw><power_limit>250.00 W</power_limit></power_readings>
"""

LOG = """==============NVSMI LOG==============

Driver Version                                         : 590.1
Attached GPUs                                          : 1
GPU 00000000:00:09.0
    Product Name                                       : NVIDIA H100 80GB HBM3
    MIG Mode
        Current                                        : {mig}
        Pending                                        : Disabled
    GPU Recovery Action                                : {recovery}
    PCI
        Bus                                            : 0x00
        GPU Link Info
            PCIe Generation
                Max                                    : 5
                Current                                : 5
            Link Width
                Max                                    : 16x
                Current                                : {width}x
    Performance State                                  : P0
    Clocks Event Reasons
        Idle                                           : Not Active
        SW Power Cap                                   : {cap}
        HW Slowdown                                    : Not Active
            HW Thermal Slowdown                        : {heat}
            HW Power Brake Slowdown                    : Not Active
        SW Thermal Slowdown                            : Not Active
    Clocks Event Reasons Counters
        SW Power Capping                               : 0 us
        HW Thermal Slowdown                            : {heat_us} us
    FB Memory Usage
        Total                                          : 81559 MiB
        Used                                           : 19818 MiB
    BAR1 Memory Usage
        Total                                          : 131072 MiB
    Utilization
        GPU                                            : 100 %
        Memory                                         : 11 %
    ECC Mode
        Current                                        : Enabled
    ECC Errors
        Volatile
            SRAM Correctable                           : 0
            DRAM Uncorrectable                         : {errors}
    Remapped Rows
        Correctable Error                              : 0
        Uncorrectable Error                            : 0
        Pending                                        : {pending}
        Remapping Failure Occurred                     : No
    GPU Power Readings
        Average Power Draw                             : 631.00 W
        Current Power Limit                            : {limit} W
        Default Power Limit                            : 700.00 W
    Clocks
        SM                                             : 1485 MHz
        Memory                                         : 2619 MHz
    Applications Clocks
        Graphics                                       : {application} MHz
    Default Applications Clocks
        Graphics                                       : 1980 MHz
    Max Clocks
        SM                                             : 1980 MHz
        Memory                                         : 2619 MHz
    Processes
        GPU instance ID                                : N/A
        Process ID                                     : 11327
            Type                                       : C
            Name                                       : /opt/bin/serve --model x
            Used GPU Memory                            : 2566 MiB
        Process ID                                     : 11328
            Type                                       : C
            Name                                       : ./train
            Used GPU Memory                            : N/A
"""
USUAL = {
    "mig": "Disabled", "recovery": "None", "width": 16, "cap": "Not Active", "heat": "Not Active", "heat_us": 0,
    "errors": 0, "pending": "No", "limit": "700.00", "application": 1980,
}  # fmt: skip


def log(**changes: object) -> str:
    """-q as text."""
    return LOG.format(**USUAL | changes)


BAR = "+-----------------------------------------+------------------------+----------------------+\n"


def table(
    *devices: tuple[str, str, str, str], mig: Sequence[str] | None = None, processes: Sequence[str] | None = ()
) -> str:
    """The plain table: devices as name, used, total, utilisation; MIG rows; processes."""
    text = "| NVIDIA-SMI 590.1              Driver Version: 590.1       CUDA Version: 13.1     |\n" + BAR
    for index, (name, used, total, busy) in enumerate(devices):
        on = "Enabled" if mig is not None else "Disabled"
        text += (
            f"|   {index}  {name:<26}  On  |   00000000:{index:02X}:09.0 Off |                    0 |\n"
            f"| N/A   59C    P0            629W /  700W |   {used} /  {total} |    {busy:>4}      Default |\n"
            f"|                                         |                        |             {on} |\n{BAR}"
        )
    if mig is not None:
        text += "| MIG devices:                        |\n| GPU  GI  CI  MIG |        Memory-Usage |        Vol|\n"
        text += "".join(f"|  {row}  1   0    1    0    1 |\n" for row in mig) or "|  No MIG devices found     |\n"
    if processes is not None:
        text += "| Processes:                                                            |\n"
        text += "|  GPU   GI   CI              PID   Type   Process name        GPU Memory |\n"
        text += "".join(f"|    {row} |\n" for row in processes) or "|  No running processes found         |\n"
    return text


DMON = """# gpu    pwr  gtemp  mtemp     sm    mem    enc    mclk   pclk  pviol  tviol  dbecc  rxpci  txpci
# Idx      W      C      C      %      %      %    MHz    MHz      %   bool   errs   MB/s   MB/s
    0     80     34     37      0      0      0   3201    345      0      0      0      0      1
    0    607     54     40     99      6      0   3201   1980     64      0      0      5      0
    0    690     54     48     99     38      0   3201   1410    100      0      0     16      7
"""
DMON_MIG = """# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk
# Idx      W      C      C      %      %    MHz    MHz
    0     70     42     48      -      -   2619    345
"""
LSCPU = """Architecture:                            x86_64
CPU(s):                                  2
Model name:                              Intel(R) Xeon(R) Processor
Core(s) per socket:                      2
Socket(s):                               1
Hypervisor vendor:                       KVM
L3 cache:                                260 MiB (1 instance)
NUMA node(s):                            1
"""
NUMACTL = "available: 2 nodes (0-1)\nnode 0 cpus: 0 1\nnode 0 size: 64218 MB\nnode 1 cpus: 2 3\nnode 1 size: 0 MB\n"
MODULE = """
Handle 0x1100, DMI type 17, 92 bytes
Memory Device
\tTotal Width: 80 bits
\tData Width: 64 bits
\tSize: 64 GB
\tLocator: {}
\tSpeed: 5600 MT/s
\tConfigured Memory Speed: 4400 MT/s
"""
DMIDECODE = (
    "# dmidecode 3.3\n" + MODULE.format("A1") + MODULE.format("A2") + "\nMemory Device\n\tData Width: Unknown\n"
    "\tSize: No Module Installed\n\tLocator: A3\n\tSpeed: Unknown\n"
)


def ports(*rates: str, name: str = "NVIDIA A100-SXM4-80GB", gpus: int = 1) -> str:
    """nvlink -s."""
    links = "".join(f"\t Link {i}: {rate}\n" for i, rate in enumerate(rates))
    return "".join(f"GPU {i}: {name} (UUID: GPU-0000)\n{links}" for i in range(gpus))
