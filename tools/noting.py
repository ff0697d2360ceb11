"""Inside pytest, beside pytest-cov: notes as well what a file of tests runs while it is collected.

What is kept between tests of how models are built is forgotten before each, so that every test that builds one says so.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from functools import _lru_cache_wrapper

import coverage
import pytest

COLLECTED = "|collected"
Report = pytest.CollectReport
BUILDING = tuple(f"rooflens.{room}" for room in ("api", "models", "operators", "roofline", "prediction"))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Report, Report]:
    """Says whose lines these are."""
    noting = coverage.Coverage.current()
    if noting and isinstance(collector, pytest.Module):
        noting.switch_context(collector.nodeid + COLLECTED)
    try:
        return (yield)
    finally:
        if noting and isinstance(collector, pytest.Module):
            noting.switch_context("")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Forgets, before any fixture."""
    forget()


def forget() -> None:
    """Empties the caches of what builds and prices models."""
    for name, module in list(sys.modules.items()):
        if name.startswith(BUILDING):
            for value in list(vars(module).values()):
                if isinstance(value, _lru_cache_wrapper):
                    value.cache_clear()
