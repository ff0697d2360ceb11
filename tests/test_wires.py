"""Single wires: what is published of a lane and of a link, and how many links a chip has."""

from __future__ import annotations

import pytest

from rooflens.catalogue import accelerator
from rooflens.roofline.wires import bridged, links, pcie_bytes_per_s


@pytest.mark.parametrize(("gen", "gb_per_s"), [(1, 4.0), (2, 8.0), (3, 15.75), (4, 31.51), (5, 63.02), (6, 121.0)])
def test_sixteen_lanes_of_pcie_carry_what_is_published_of_their_generation(gen, gb_per_s):
    assert pcie_bytes_per_s(gen, 16) == pytest.approx(gb_per_s * 1e9, rel=1e-3)


@pytest.mark.parametrize(("gen", "lanes"), [(None, 16), (5, None), (9, 16)])
def test_a_bus_that_is_not_known_has_no_rate(gen, lanes):
    assert pcie_bytes_per_s(gen, lanes) is None


@pytest.mark.parametrize(
    ("chip", "count"),
    [("p100-sxm2-16gb", 4), ("v100-sxm2-16gb", 6), ("a100-sxm4-80gb", 12), ("h100-sxm5-80gb", 18),
     ("b200-sxm-180gb", 18), ("rtx-3090-24gb", 4), ("mi300x-192gb", 7), ("l40s", None),
     ("rubin-sxm-288gb", 18), ("mi100-32gb", 3), ("mi210-64gb", None), ("mi300a-128gb", None)],
)  # fmt: skip
def test_a_chip_has_the_links_that_its_maker_draws(chip, count):
    assert links(accelerator(chip)) == count
    assert bridged(accelerator(chip)) is (chip in ("rtx-3090-24gb", "mi210-64gb"))
