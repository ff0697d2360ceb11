"""A second opinion: the classes of transformers count the same. Left out without the extra `second-opinion`."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

collect_ignore_glob: list[str] = []
try:
    import torch
    import transformers
except ImportError:
    collect_ignore_glob.append("test_*.py")
else:
    transformers.logging.set_verbosity_error()

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.filterwarnings("ignore"))  # other people's


@pytest.fixture
def on_meta() -> Callable[[str, dict[str, Any]], tuple[dict[str, Any], Any]]:
    """A class built without memory: its config as it would be saved, and the model."""

    def build(family: str, facts: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        config = transformers.AutoConfig.for_model(family, **facts)
        with torch.device("meta"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = transformers.AutoModelForCausalLM.from_config(config)
            model.tie_weights()
        return {**json.loads(json.dumps(config.to_dict(), default=str)), "model_type": family}, model

    return build
