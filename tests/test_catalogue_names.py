"""A name means one chip or none."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens.catalogue import Ambiguous, accelerator, accelerators, names, store
from rooflens.errors import Unknown

ALL = accelerators()
MIB, GIB = 2**20, 2**30


def fold(name):
    return " ".join(name.casefold().split())


def names_of(known):
    return {fold(n) for n in (known.id, known.name, re.sub(r"-\d+gb$", "", known.id), *known.aliases)}


OWNERS: dict[str, set[str]] = {}
for a in ALL:
    for own in names_of(a):
        OWNERS.setdefault(own, set()).add(a.id)
EVERY_NAME = sorted({n for a in ALL for n in (a.id, a.name, *a.aliases, *a.shared_names)})


@pytest.mark.parametrize("known", ALL, ids=lambda a: a.id)
def test_an_id_a_title_and_every_printed_name_lead_to_their_own_accelerator(known):
    assert accelerator(known.id) is known
    assert accelerator(known.id.upper()) is known
    assert accelerator(known.name) is known
    for alias in known.aliases:
        assert accelerator(alias) is known
        assert accelerator(f"  {alias.lower()} ") is known


@pytest.mark.parametrize(
    ("printed", "id"),
    [
        ("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"),
        ("NVIDIA H100 PCIe", "h100-pcie-80gb"),
        ("NVIDIA H100 NVL", "h100-nvl-94gb"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
        ("NVIDIA H200", "h200-sxm-141gb"),
        ("NVIDIA H200 NVL", "h200-nvl-141gb"),
        ("NVIDIA H20", "h20-96gb"),
        ("NVIDIA GH200 480GB", "gh200-96gb"),  # the 480 GB are the CPU's
        ("NVIDIA B200", "b200-sxm-180gb"),
        ("NVIDIA GB200", "gb200-186gb"),
        ("NVIDIA L40", "l40"),
        ("NVIDIA L40S", "l40s"),
        ("NVIDIA L4", "l4"),
        ("NVIDIA A10", "a10"),
        ("NVIDIA A10G", "a10g"),
        ("Tesla T4", "t4"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090-24gb"),
        ("NVIDIA GeForce RTX 4090 D", "rtx-4090d-24gb"),
        ("NVIDIA GeForce RTX 4070 Ti", "rtx-4070ti-12gb"),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", "rtx-4070tisuper-16gb"),
        ("AMD Instinct MI300X", "mi300x-192gb"),
        ("AMD Instinct MI300A", "mi300a-128gb"),
        ("TPU v5", "tpu-v5p"),
        ("TPU v5 lite", "tpu-v5e"),
        ("h200-sxm", "h200-sxm-141gb"),
        ("b200", "b200-sxm-180gb"),  # the only B200 there is, whatever GB200 begins with
        ("b300", "b300-sxm-288gb"),
        ("mi250x/1", "mi250x-128gb"),  # one of its two dies
        ("mi300x", "mi300x-192gb"),
        ("rtx-4090", "rtx-4090-24gb"),
        ("t4", "t4"),
    ],
)
def test_neighbours_that_others_confuse_are_told_apart(printed, id):
    assert accelerator(printed).id == id


def test_no_printed_name_belongs_to_two_accelerators():
    claimed = [fold(n) for a in ALL for n in {fold(n) for n in (a.id, a.name, *a.aliases)}]
    assert len(claimed) == len(set(claimed))
    shared = {fold(n) for a in ALL for n in a.shared_names}
    assert not shared & set(claimed)


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("h100-sxm5", ["h100-sxm5-80gb", "h100-sxm5-64gb"]),
        ("a100-sxm4", ["a100-sxm4-40gb", "a100-sxm4-80gb"]),
        ("gh200", ["gh200-96gb", "gh200-144gb"]),
        ("rtx-4060ti", ["rtx-4060ti-8gb", "rtx-4060ti-16gb"]),
        ("NVIDIA GeForce RTX 4060 Ti", ["rtx-4060ti-8gb", "rtx-4060ti-16gb"]),
        ("NVIDIA GeForce RTX 3080", ["rtx-3080-10gb", "rtx-3080-12gb"]),
        ("NVIDIA GeForce RTX 3060", ["rtx-3060-12gb"]),  # an 8 GB card prints it too
        ("AMD Instinct MI250X", ["mi250x-128gb"]),  # printed by each of two dies
        ("h100", ["h100-sxm5-80gb", "h100-sxm5-64gb", "h100-pcie-80gb", "h100-nvl-94gb"]),
    ],
)
def test_a_name_that_does_not_say_which_is_refused_with_all_that_fit(name, ids):
    with pytest.raises(Ambiguous) as refused:
        accelerator(name)
    assert refused.value.near == ids
    assert all(id in str(refused.value) for id in ids)
    assert "rooflens machines" in str(refused.value)


def test_a_long_list_of_fitting_names_is_cut_aloud():
    with pytest.raises(Ambiguous, match=r"and \d\d more; write the whole id"):
        accelerator("rtx")


@pytest.mark.parametrize(
    ("name", "memory_bytes", "id"),
    [
        ("NVIDIA GeForce RTX 3080", 10240 * MIB, "rtx-3080-10gb"),
        ("NVIDIA GeForce RTX 3080", 12288 * MIB, "rtx-3080-12gb"),
        ("NVIDIA GeForce RTX 4060 Ti", 16380 * MIB, "rtx-4060ti-16gb"),
        ("h100-sxm5", 81559 * MIB, "h100-sxm5-80gb"),  # 85.52 GB, "80 GB" on the label
        ("NVIDIA L40S", 46068 * MIB, "l40s"),
        ("NVIDIA A10G", 22587 * MIB, "a10g"),
        ("Tesla T4", 15109 * MIB, "t4"),
        ("NVIDIA B200", 182631 * MIB, "b200-sxm-180gb"),
        ("NVIDIA GB10", 130602405888, "gb10-dgx-spark-128gb"),
        ("apple-m1-max", 32 * GIB, "apple-m1-max"),  # sold with up to 64 GB
        ("epyc-9654", 1536 * GIB, "epyc-9654"),  # a socket has no memory of its own
    ],
)
def test_the_size_that_a_driver_reports_decides(name, memory_bytes, id):
    assert accelerator(name, memory_bytes).id == id


@pytest.mark.parametrize(
    ("name", "memory_bytes"),
    [
        ("NVIDIA GeForce RTX 3060", 8192 * MIB),
        ("NVIDIA GeForce RTX 4090", 49140 * MIB),  # rebuilt with other memory
        ("NVIDIA H20", 141 * GIB),
        ("h200-sxm-141gb", 80 * GIB),
        ("h100-sxm5", 94 * GIB),
    ],
)
def test_a_size_that_does_not_fit_is_refused(name, memory_bytes):
    with pytest.raises(Ambiguous, match="none of these sizes"):
        accelerator(name, memory_bytes)


def test_the_size_tells_a_die_from_its_package():
    assert accelerator("AMD Instinct MI250X", 64 * GIB).matrix.bf16 == 191.5e12
    assert accelerator("AMD Instinct MI250X", 128 * GIB).matrix.bf16 == 383e12
    assert accelerator("TPU v3", 16 * GIB).matrix.bf16 == 61.5e12


@pytest.mark.parametrize(
    "name",
    ["", " ", "7.5", "8.9", "gpu", "here", "NVIDIA H100", "NVIDIA GeForce RTX 3080 Laptop GPU", "H100 SXM", "L40G",
     "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA H20-3e", "NVIDIA GeForce RTX 4070", "NVIDIA GeForce GTX 1650"],
)  # fmt: skip
def test_what_nothing_is_called_is_refused_and_never_falls_back(name):
    with pytest.raises(Unknown, match="See: rooflens machines"):
        accelerator(name)
    with pytest.raises(Unknown):
        accelerator(name, 80 * GIB)


def test_a_slip_of_the_finger_is_answered_with_the_name_that_was_meant():
    with pytest.raises(Unknown) as refused:
        accelerator("h10O-sxm5-80gb")
    assert "did you mean 'h100-sxm5-80gb'" in str(refused.value)


MUTATIONS = st.tuples(
    st.sampled_from(EVERY_NAME),
    st.sampled_from(["drop", "double", "replace", "insert", "swap", "cut", "head"]),
    st.floats(0, 1, exclude_max=True),
    st.characters(codec="ascii", categories=["L", "N", "P", "Zs"]),
)


def mutated(name, how, where, letter):
    i = int(where * len(name))
    before, here, after = name[:i], name[i], name[i + 1 :]
    return {
        "drop": before + after,
        "double": before + here + here + after,
        "replace": before + letter + after,
        "insert": before + letter + here + after,
        "swap": before + after[:1] + here + after[1:],
        "cut": before,
        "head": here + after,
    }[how]


@given(MUTATIONS)
def test_a_mutated_name_never_leads_to_another_chip(case):
    name = mutated(*case)
    try:
        found = accelerator(name)
    except Unknown as refused:
        assert name == name.strip() or "See:" in str(refused)
        return
    if fold(name) in OWNERS:
        assert OWNERS[fold(name)] == {found.id}  # the name, letter by letter, is one that only this chip has
    else:  # or the beginning of its id and of no other's, as B200 is
        assert [one for one in (a.id for a in ALL) if one.startswith(f"{fold(name)}-")] == [found.id]


@given(st.text())
def test_any_text_is_a_known_name_or_a_sentence(text):
    try:
        found = accelerator(text)
    except Unknown as refused:
        assert str(refused).endswith("See: rooflens machines")
    else:
        assert OWNERS[fold(text)] == {found.id}


@given(st.sampled_from(EVERY_NAME), st.floats(1e6, 1e13))
def test_a_size_never_leads_to_a_chip_of_another_size(name, memory_bytes):
    try:
        found = accelerator(name, memory_bytes)
    except Unknown:
        return
    capacity, label = found.memory.capacity_bytes, found.memory.label or ""
    if capacity is not None:
        assert memory_bytes <= 1.005 * capacity
        assert label.startswith("up to") or memory_bytes >= 0.9 * capacity


def test_naming_one_chip_by_its_id_looks_at_no_other(monkeypatch):
    decoded = []
    monkeypatch.setattr(names, "by_id", lambda id: decoded.append(id) or store.by_id(id))
    monkeypatch.setattr(names, "entries", lambda: pytest.fail("an exact id needs no other name"))
    accelerator("h100-sxm5-80gb")
    assert decoded == ["h100-sxm5-80gb"]
    where, table = store._tables()["h100-sxm5-80gb"]
    assert where == "nvidia-hopper.toml"
    assert table.count("\nid = ") + table.startswith("id = ") == 1


def test_the_beginning_of_a_drivers_name_brings_the_whole_one_and_no_other_chip():
    with pytest.raises(Unknown, match="only the beginning of NVIDIA B300 SXM6 AC") as refused:
        accelerator("NVIDIA B300")
    assert refused.value.near == ["NVIDIA B300 SXM6 AC"]
    with pytest.raises(Unknown, match="did you mean 'rtx-4090'"):
        accelerator("rtx 4090")
