"""What tools say of a node is read as they mean it: unknown, absent and zero are different answers."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from node_files import (
    ANSI,
    COLUMNS,
    DMIDECODE,
    DMON,
    DMON_MIG,
    H200,
    LEGEND,
    LOADED,
    LSCPU,
    NUMACTL,
    TURING,
    full,
    halves,
    log,
    matrix,
    ports,
    query,
    read,
    rocm,
    table,
    xml,
)  # fmt: skip

from rooflens import readers
from rooflens.errors import BadFile, RooflensError
from rooflens.records import encode
from rooflens.roofline.node import Node

MIB = 2.0**20
IDLE = ("NVIDIA H100 80GB HBM3", "0MiB", "81559MiB", "0%")


def kinds(node: Node) -> Counter[tuple[str, int | None]]:
    return Counter((link.kind, link.count) for link in node.links)


# --- topo -m ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spaces", [False, True])
@pytest.mark.parametrize(
    ("devices", "cell"), [(2, "NV2"), (4, "NV6"), (8, "NV8"), (8, "NV12"), (8, "NV18"), (4, "NV18")]
)
def test_every_pair_has_the_links_that_its_cell_counts(devices: int, cell: str, spaces: bool) -> None:
    node = read(matrix(full(devices, cell), ["0-51,104-155 0 N/A"] * devices, spaces=spaces) + LEGEND)
    assert kinds(node) == {("NVLink", int(cell[2:])): devices * (devices - 1) // 2}
    assert [(gpu.cpus, gpu.numa) for gpu in node.gpus or ()] == [("0-51,104-155", "0")] * devices
    assert node.warnings == ()


def test_a_header_in_terminal_escapes_is_a_header_and_one_device_has_no_peers() -> None:
    node = read(matrix(["X"], ["0-19 0 N/A"], header=ANSI) + LEGEND)
    assert ([gpu.index for gpu in node.gpus or ()], node.links, node.warnings) == ([0], (), ())
    assert (node.gpus or ())[0].cpus == "0-19"


def test_an_empty_field_between_tabs_shifts_nothing() -> None:
    node = read(matrix(full(2, "PHB"), ["- 1 N/A", "0-63 - N/A"]))
    assert [(gpu.cpus, gpu.numa) for gpu in node.gpus or ()] == [(None, "1"), ("0-63", None)]


def test_numa_that_is_not_available_is_unknown() -> None:
    node = read(matrix(full(2, "NV2"), ["0-23 N/A"] * 2, columns=COLUMNS[:2], spaces=True))
    assert [(gpu.cpus, gpu.numa) for gpu in node.gpus or ()] == [("0-23", None)] * 2


def test_cards_are_no_devices_and_keep_their_names() -> None:
    rows = ["X NV4 PIX SYS", "NV4 X SYS PXB", "PIX SYS X SYS", "SYS PXB SYS X"]
    text = matrix(rows, ["0-23 3 N/A", "24-47 1 N/A"], ["NIC0", "mlx5_1"]) + "\nNIC Legend:\n\n  NIC0: mlx5_0\n"
    node = read(text)
    assert kinds(node) == {("NVLink", 4): 1}
    assert [(card.name, card.device, dict(card.paths)) for card in node.nics] == [
        ("NIC0", "mlx5_0", {0: "PIX", 1: "SYS"}),
        ("mlx5_1", None, {0: "SYS", 1: "PXB"}),
    ]
    assert [gpu.numa for gpu in node.gpus or ()] == ["3", "1"]


@pytest.mark.parametrize("cards", [["mlx5_0"], []])
def test_an_old_table_says_soc_where_newer_ones_say_sys(cards: list[str]) -> None:
    rows = [row + " SOC" * len(cards) for row in halves(4, "PIX", "SOC")]
    node = read(
        matrix([*rows, *["SOC SOC PHB PHB X"] * len(cards)], ["0-7"] * 4, cards, columns=COLUMNS[:1], spaces=True)
    )
    assert kinds(node) == {("PIX", None): 2, ("SYS", None): 4}


def test_pairs_need_not_be_neighbours() -> None:
    node = read(
        matrix(["X PHB NV4 NODE", "PHB X NODE NV4", "NV4 NODE X PHB", "NODE NV4 PHB X"], spaces=True, columns=())
    )
    assert [(link.a, link.b) for link in node.links if link.kind == "NVLink"] == [(0, 2), (1, 3)]


@pytest.mark.parametrize("prefix", ["", "    ", "> ", "// ", "[rank0]: ", "2026-01-02T03:04:05 node7 "])
def test_a_matrix_is_found_inside_of_a_longer_report(prefix: str) -> None:
    text = "vLLM Version: 0.32\nGPU Topology:\n" + matrix(
        halves(4, "NV4", "SYS"), ["0-23,48-71 0 N/A"] * 4, spaces=True
    )
    lines = [prefix + line for line in (text + LEGEND + "LD_LIBRARY_PATH=/usr/lib\n").splitlines()]
    node = read("\n".join(lines))
    assert kinds(node) == {("NVLink", 4): 2, ("SYS", None): 4}
    assert {gpu.cpus for gpu in node.gpus or ()} == {"0-23,48-71"}


def test_columns_are_known_in_other_spellings_and_disks_are_no_cards() -> None:
    rows = ["X SYS PXB PXB", "SYS X SYS SYS", "PXB SYS X PIX", "PXB SYS PIX X"]
    text = matrix(rows, ["0-47 0", "48-95 1"], ["NIC0", "NVMe0"], columns=["CPU    Affinity", "NUMA"], spaces=True)
    node = read(text)
    assert [(gpu.cpus, gpu.numa) for gpu in node.gpus or ()] == [("0-47", "0"), ("48-95", "1")]
    assert [card.name for card in node.nics] == ["NIC0"]


def test_cells_that_touch_are_told_apart() -> None:
    text = matrix(["X NV18 NODE PXB", "NV18 X SYS SYS"], ["0-55 0 N/A"] * 2).replace("\tCPU", "\tNIC0\tNIC1\tCPU")
    node = read(text.replace("NODE\tPXB", "NODEPXB").replace("SYS\tSYS", "SYSSYS"))
    assert [dict(card.paths) for card in node.nics] == [{0: "NODE", 1: "SYS"}, {0: "PXB", 1: "SYS"}]
    assert [(gpu.cpus, gpu.numa) for gpu in node.gpus or ()] == [("0-55", "0")] * 2


def test_rows_without_a_header_are_read_and_said_to_be() -> None:
    rows = [f"{row} PXB" for row in full(2, "NV18")]
    node = read("\n".join(matrix(rows, ["0-31 0 N/A"] * 2).splitlines()[1:]))
    assert kinds(node) == {("NVLink", 18): 1}
    assert dict(node.nics[0].paths) == {0: "PXB", 1: "PXB"}
    assert "has no header" in node.warnings[0]


def test_what_peers_may_do_is_no_matrix_of_links() -> None:
    text = " \tGPU0\tGPU1\t\n GPU0\tX\tGNS\t\n GPU1\tGNS\tX\t\n"
    alone = read(text)
    assert [(link.kind, link.peers) for link in alone.links] == [("unknown", "GNS")]
    assert "add topo -m" in alone.warnings[0]
    both = read(matrix(full(2, "PHB")) + LEGEND + text)
    assert [(link.kind, link.peers) for link in both.links] == [("PHB", "GNS")]
    assert both.warnings == ()


def test_a_view_that_hides_nvlink_is_known_by_its_command() -> None:
    assert read("$ nvidia-smi topo -mp\n" + matrix(full(2, "SYS"))).hides_nvlink
    assert not read("$ nvidia-smi topo -m\n" + matrix(full(2, "SYS"))).hides_nvlink


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (matrix(full(4, "NV4")).rsplit("\t", 2)[0], "cells under 4 devices"),
        ("\n".join(matrix(full(4, "NV4")).splitlines()[:3]), "no row of GPU2, GPU3"),
        (matrix(["X NV4", "SYS X"]), "GPU 0 and 1 are NV4 in one row and SYS in the other"),
        (matrix(["NV4 X", "X NV4"]), "no X where it meets itself"),
        (matrix(full(2, "NV4")) + "\n" + matrix(full(2, "SYS")), "2 different topology matrices"),
    ],
)
def test_a_damaged_matrix_is_read_with_a_warning(text: str, said: str) -> None:
    assert said in "\n".join(read(text).warnings)


# --- ROCm -------------------------------------------------------------------------------------------------------------


def test_rocm_counts_hops_and_names_links() -> None:
    mesh = read(rocm(lambda *_: "XGMI", lambda *_: 1, 8))
    assert {(link.kind, link.hops, link.weight) for link in mesh.links} == {("XGMI", 1, 15)}
    assert ([gpu.numa for gpu in mesh.gpus or ()], mesh.warnings) == (["0"] * 4 + ["1"] * 4, ())
    apart = read(rocm(lambda *_: "PCIE", lambda *_: 3, 4, numa="GPU {}    "))
    assert {(link.kind, link.hops, link.weight) for link in apart.links} == {("PCIe", 3, 52)}
    assert [gpu.numa for gpu in apart.gpus or ()] == ["0", "0", "1", "1"]


def test_one_device_of_amd_is_one_and_not_none() -> None:
    node = read("AMD Topology:\n====== Link Type between two GPUs ======\n       GPU0\nGPU0   0\n")
    assert len(node.gpus or ()) == 1


def test_amd_smi_names_devices_by_their_bus() -> None:
    names = ["0000:03:00.0", "0000:0c:00.0"]
    text = ""
    for title, own, other in (("ACCESS", "ENABLED", "DISABLED"), ("HOPS", "0", "2"), ("LINK TYPE", "SELF", "PCIE")):
        text += f"{title} TABLE:\n             {' '.join(names)}\n{names[0]} {own} {other}\n{names[1]} {other} {own}\n"
    assert [(link.kind, link.hops, link.peers) for link in read(text).links] == [("PCIe", 2, "NS")]


# --- nvidia-smi -------------------------------------------------------------------------------------------------------


def test_the_new_schema_is_read_block_by_block() -> None:
    node = read(xml(H200, 2))
    assert len(node.gpus or ()) == node.attached == 2
    gpu = (node.gpus or ())[1]
    assert gpu.memory_bytes == 143771 * MIB  # 150.75 GB: not that of BAR1, not the 0 of protected memory
    assert (gpu.power.draw_w, gpu.power.limit_w) == (126.28, 700.0)
    assert (gpu.clocks.sm_hz, gpu.clocks.memory_hz) == (1980e6, 3201e6)
    assert (gpu.reasons, gpu.slices, gpu.processes, gpu.mig) == (("idle",), (), (), False)
    assert (gpu.errors.corrected_volatile, gpu.errors.uncorrected_volatile) == (2, 0)
    assert (gpu.errors.uncorrected_aggregate, gpu.errors.replaced, gpu.errors.pending) == (3, 1, False)
    assert (gpu.pcie.gen, gpu.pcie.max_gen, gpu.pcie.width, gpu.pcie.max_width) == (5, 5, 16, 16)


def test_the_old_schema_is_read_too_and_what_a_card_has_not_is_absent() -> None:
    gpu = (read(xml(TURING, 2)).gpus or ())[1]
    assert gpu.memory_bytes == 11264 * MIB
    assert (gpu.power.draw_w, gpu.power.limit_w, gpu.errors.ecc) == (230.0, 250.0, None)
    assert gpu.absent == {"errors.ecc": "N/A"}
    assert gpu.processes is None  # nobody speaks of them: unknown, not none


def test_no_devices_is_an_answer_and_a_cut_file_is_not() -> None:
    assert read("<nvidia_smi_log><driver_version>570.1</driver_version></nvidia_smi_log>").gpus == ()
    cut = read("<nvidia_smi_log><driver_version>570.1</driver_version>")
    assert cut.gpus is None
    assert "cut off" in cut.warnings[0]


def test_a_minimal_file_leaves_the_rest_unknown() -> None:
    (gpu,) = read(xml("<product_name>NVIDIA GeForce RTX 4090</product_name><fb_memory_usage><total>24564 MiB</total>"
                      "</fb_memory_usage>")).gpus or ()  # fmt: skip
    assert (gpu.memory_bytes, gpu.used_bytes, gpu.busy_share, gpu.reasons) == (24564 * MIB, None, None, None)


def test_instances_and_processes_of_mig_are_read_from_xml() -> None:
    part = ("<mig_device><index>0</index><gpu_instance_id>{}</gpu_instance_id><device_attributes><shared>"
            "<multiprocessor_count>{}</multiprocessor_count></shared></device_attributes>"
            "<fb_memory_usage><total>{} MiB</total></fb_memory_usage></mig_device>")  # fmt: skip
    parts = part.format(1, 36, 45312) + part.format(7, 18, 20992)
    inside = f"<mig_mode><current_mig>Enabled</current_mig></mig_mode><mig_devices>{parts}</mig_devices>"
    (gpu,) = read(xml(inside)).gpus or ()
    assert [(one.instance, one.sms, one.memory_bytes) for one in gpu.slices or ()] == [
        (1, 36, 45312 * MIB),
        (7, 18, 20992 * MIB),
    ]
    assert gpu.memory_bytes is None  # that of an instance is not the card's


def test_the_log_as_text_says_the_same_by_its_indentation() -> None:
    (gpu,) = read(log(cap="Active", heat_us=5_000_000)).gpus or ()
    assert (gpu.name, gpu.memory_bytes, gpu.used_bytes) == ("NVIDIA H100 80GB HBM3", 81559 * MIB, 19818 * MIB)
    assert (gpu.reasons, gpu.throttled_s["hw_thermal"]) == (("sw_power_cap",), 5.0)
    assert (gpu.pcie.max_gen, gpu.pcie.width, gpu.clocks.max_sm_hz, gpu.power.default_limit_w) == (5, 16, 1980e6, 700.0)
    assert [(one.name, one.memory_bytes) for one in gpu.processes or ()] == [("serve", 2566 * MIB), ("train", None)]
    cut = read(log()[: log().index("Remapped Rows")])
    assert "cut off" in cut.warnings[0]


def test_a_query_has_units_in_its_header_or_in_its_cells() -> None:
    first = (read(query(LOADED)).gpus or ())[0]
    bare = "\n".join(
        line if place == 0 else line.replace(" MiB", "").replace(" MHz", "").replace(" W", "").replace(" %", "")
        for place, line in enumerate(query(LOADED).splitlines())
    )
    assert read(bare).gpus == (first,)
    assert (first.busy_share, first.memory_busy_share, first.power.draw_w) == (1.0, 0.11, 631.95)
    assert (first.reasons, first.clocks.sm_hz, first.fabric) == ((), 1980e6, "Completed")


def test_a_quote_that_nobody_closed_ends_with_its_line() -> None:
    header, *devices = query({}, {}).splitlines()
    long = ['"y, ' + "x" * 19_000, *["y, " + "x" * 19_000] * 9]  # as one cell it would be more than a CSV may hold
    assert len(read("\n".join([header, *long, *devices])).gpus or ()) == 2


def test_not_available_is_neither_unknown_nor_zero() -> None:
    (gpu,) = read(query({"utilization.gpu [%]": "[N/A]", "mig.mode.current": "Enabled"})).gpus or ()
    assert (gpu.busy_share, gpu.absent, gpu.mig) == (None, {"busy_share": "[N/A]"}, True)


def test_several_looks_at_a_device_are_not_several_devices() -> None:
    head = "timestamp, utilization.gpu [%]\n"
    lines = "".join(f"2026/01/02 13:03:3{second}.001, {share} %\n" for second, share in ((1, 100), (2, 88), (3, 50)))
    looks = read(head + lines)
    assert [gpu.busy_share for gpu in looks.gpus or ()] == [0.5]
    assert "several times" in looks.warnings[0]
    pair = read(head + "2026/01/02 13:03:31.001, 100 %\n2026/01/02 13:03:31.004, 88 %\n")
    assert [gpu.busy_share for gpu in pair.gpus or ()] == [1.0, 0.88]
    named = read("uuid, pstate\nGPU-a, P0\nGPU-b, P2\nGPU-a, P8\n")
    assert [gpu.performance_state for gpu in named.gpus or ()] == ["P8", "P2"]


def test_the_bits_of_reasons_are_named() -> None:
    (gpu,) = read(query({"clocks_event_reasons.active": "0x00000000000000E8"})).gpus or ()
    assert gpu.reasons == ("hw_slowdown", "sw_thermal", "hw_thermal", "hw_power_brake")  # 0x8 + 0x20 + 0x40 + 0x80


def test_the_plain_table_lists_devices_and_who_is_on_them() -> None:
    text = table(("NVIDIA H100 80GB HBM3", "19818MiB", "81559MiB", "100%"), IDLE,
                 processes=("0   N/A  N/A           11327      C   ./memhog                     2566MiB",))  # fmt: skip
    first, second = read(text).gpus or ()
    assert (first.busy_share, first.used_bytes, first.power.draw_w, first.power.limit_w) == (
        1.0,
        19818 * MIB,
        629.0,
        700.0,
    )
    assert [one.name for one in first.processes or ()] == ["memhog"]
    assert second.processes == ()
    assert "no list of processes" in read(table(("X", "0MiB", "9MiB", "0%"), processes=None)).warnings[0]


def test_old_and_commented_tables_are_read() -> None:
    old = (
        "# | NVIDIA-SMI 390.46                 Driver Version: 390.46                    |\n"
        "# |   0  Tesla K20X          On   | 0000:4B:00.0     Off |                  N/A |\n"
        "# | N/A   32C    P8    17W / 225W |      0MiB /  5700MiB |      0%   E. Process |\n"
        "# |   1  GeForce MX250       Off  | 00000000:01:00.0 Off |                  N/A |\n"
        "# | 67%   50C    P3    N/A /  N/A |    447MiB /  2002MiB |      3%      Default |\n"
    )
    first, second = read(old).gpus or ()
    assert (first.name, first.memory_bytes, first.power.limit_w) == ("Tesla K20X", 5700 * MIB, 225.0)
    assert (second.name, second.power.draw_w, second.busy_share) == ("GeForce MX250", None, 0.03)


def test_parts_of_an_output_are_read_without_their_first_lines() -> None:
    rows = table(IDLE).splitlines()[2:]
    assert [gpu.name for gpu in read("\n".join(rows)).gpus or ()] == [IDLE[0]]
    part = "$ nvidia-smi -q -d PERFORMANCE\n\n" + log(heat="Active")[log().index("GPU 00000000") :]
    assert (read(part).gpus or ())[0].reasons == ("hw_thermal",)
    assert (read("index, name, uuid, serial\n0, NVIDIA L4, GPU-a, [N/A]\n").gpus or ())[0].name == "NVIDIA L4"
    assert read(DMON + "```\n\n3 words follow\n").warnings == ()


def test_the_plain_table_of_mig_has_instances_or_says_that_there_are_none() -> None:
    row = "0    7   0   0  |    15MiB /  9984MiB    | 14      0 |"
    (gpu,) = read(table(("NVIDIA H100 PCIe", "0MiB", "81559MiB", "N/A"), mig=[row])).gpus or ()
    assert (gpu.mig, gpu.busy_share, gpu.absent) == (True, None, {"busy_share": "N/A"})
    assert [(one.instance, one.sms, one.memory_bytes) for one in gpu.slices or ()] == [(7, 14, 9984 * MIB)]
    (none,) = read(table(("NVIDIA H100 PCIe", "0MiB", "81559MiB", "N/A"), mig=[])).gpus or ()
    assert none.slices == ()


def test_links_are_listed_with_their_rate_or_as_inactive() -> None:
    (gpu,) = read(ports("25 GB/s", "<inactive>", "Active")).gpus or ()
    assert [(port.index, port.bytes_per_s) for port in gpu.ports or ()] == [(0, 25e9), (1, 0.0), (2, None)]
    said = read(
        "GPU 1: Quadro RTX 5000 (UUID: GPU-b) NVML: Unable to retrieve NVLink information as all links are inActive\n"
    )
    assert "all of its NVLinks are inactive" in said.warnings[0]


def test_a_listing_names_the_instances_of_mig() -> None:
    (gpu,) = read("GPU 0: NVIDIA A100 80GB PCIe (UUID: GPU-0)\n  MIG 3g.40gb     Device  0: (UUID: MIG-0)\n").gpus or ()
    assert (gpu.name, gpu.mig, [one.profile for one in gpu.slices or ()]) == (
        "NVIDIA A100 80GB PCIe",
        True,
        ["3g.40gb"],
    )


def test_a_monitor_is_read_by_the_names_of_its_columns() -> None:
    samples = read(DMON).samples
    assert [(s.power_w, s.busy_share, s.sm_hz, s.held_share, s.hot) for s in samples] == [
        (80.0, 0.0, 345e6, 0.0, False),
        (607.0, 0.99, 1980e6, 0.64, False),
        (690.0, 0.99, 1410e6, 1.0, False),
    ]
    assert read(DMON_MIG).samples[0].busy_share is None  # a dash is missing, never zero
    dated = re.sub(r"^ +0 ", "20260101 1:2:3 0 ", DMON.replace("# gpu ", "#Date Time gpu "), flags=re.MULTILINE)
    later = read(dated.replace("# Idx ", "#D T Idx "))
    assert [s.power_w for s in later.samples] == [80.0, 607.0, 690.0]
    bare = read("# gpu   pwr  sm   pclk\n    0   145   87  1980\n").samples[0]
    assert (bare.power_w, bare.busy_share, bare.sm_hz) == (145.0, 0.87, 1980e6)


# --- the host, and files ----------------------------------------------------------------------------------------------


def test_the_host_is_read_from_what_describes_it() -> None:
    host = read(LSCPU + DMIDECODE).host
    assert (host.hypervisor, host.cores, host.l3_bytes) == ("KVM", 2, 260 * MIB)
    assert [(m.slot, m.data_bits, m.transfers_per_s, m.rated_transfers_per_s) for m in host.modules] == [
        ("A1", 64, 4.4e9, 5.6e9),
        ("A2", 64, 4.4e9, 5.6e9),
    ]
    assert host.slots == 3
    node = read(NUMACTL)
    assert (node.host.numa_nodes, node.warnings) == (2, ("NUMA node 1 has no memory",))


def test_several_outputs_in_one_text_are_one_node() -> None:
    node = read(table(IDLE, IDLE)
                + matrix(full(2, "NV18"), ["0-9 0 N/A"] * 2) + ports("26.562 GB/s", gpus=2, name=IDLE[0]) + DMON
                + LSCPU)  # fmt: skip
    assert node.held == ("nvidia-smi", "nvidia-smi nvlink -s", "nvidia-smi topo -m", "nvidia-smi dmon", "lscpu")
    assert [(gpu.name, gpu.cpus, len(gpu.ports or ())) for gpu in node.gpus or ()] == [
        ("NVIDIA H100 80GB HBM3", "0-9", 1)
    ] * 2


def test_files_of_two_nodes_are_said_to_disagree() -> None:
    node = read(ports("25 GB/s") + table(("NVIDIA L4", "0MiB", "23034MiB", "0%")))
    assert "disagree about name of GPU 0" in "\n".join(node.warnings)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ERROR: Option -m is missing its value. Please run 'nvidia-smi -h' for help.\n", "printed no topology"),
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
            "could not reach the driver",
        ),
        ("bash: nvidia-smi: command not found\n", "found no such program"),
        ("Loading model weights took 14.9888 GB\n# GPU blocks: 1952, # CPU blocks: 2048\n", "nothing about a node"),
    ],
)
def test_what_says_nothing_of_a_node_is_a_sentence(text: str, said: str) -> None:
    with pytest.raises(RooflensError, match=said):
        read(text)


def test_files_are_recognised_by_content_and_may_be_packed(tmp_path: Path) -> None:
    from observed_files import packed

    (tmp_path / "any.name").write_bytes(packed(xml(H200).encode()))
    assert (readers.node(tmp_path / "any.name").gpus or ())[0].name == "NVIDIA H200"
    (tmp_path / "binary").write_bytes(b"\x7fELF\0\0\0\0")
    with pytest.raises(RooflensError, match="binary"):
        readers.node(tmp_path / "binary")
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(BadFile, match="empty"):
        readers.node(tmp_path / "empty")


WHOLE = [
    matrix(halves(4, "NV4", "SYS"), ["0-23 0 N/A"] * 4) + LEGEND, rocm(lambda *_: "XGMI", lambda *_: 1, 2),
    xml(H200, 2),
    log(), query(LOADED), table(("NVIDIA L4", "0MiB", "23034MiB", "0%")), ports("25 GB/s", "<inactive>"), DMON, LSCPU,
    NUMACTL, DMIDECODE,
]  # fmt: skip


def outcome(text: str) -> Node | None:
    """A record that can be written, or None for a sentence."""
    try:
        node = read(text)
    except RooflensError as error:
        assert str(error)
        return None
    encode(node)
    return node


@given(st.sampled_from(WHOLE), st.data())
def test_a_file_that_ends_anywhere_is_a_record_or_a_sentence(text: str, data: st.DataObject) -> None:
    outcome(text[: data.draw(st.integers(0, len(text)))])


@settings(max_examples=settings.default.max_examples // 2)
@given(st.sampled_from(WHOLE), st.data())
def test_garbage_inside_of_a_file_is_no_crash(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    outcome(text[:at] + data.draw(st.text(max_size=20)) + text[at + data.draw(st.integers(0, 40)) :])


@given(st.integers(2, 8), st.integers(0, 400))
def test_a_cut_matrix_never_counts_a_pair_wrong(devices: int, end: int) -> None:
    text = matrix(full(devices, "NV18"), ["0-9 0 N/A"] * devices)
    node = outcome(text[: min(end, len(text))])
    if node is not None:
        wrong = [link for link in node.links if (link.kind, link.count) not in (("NVLink", 18), ("unknown", None))]
        assert not wrong or node.warnings
