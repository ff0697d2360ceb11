"""A path to a model: config.json, a folder, .safetensors, an index, or .gguf; and what is refused, and why."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rooflens import artefacts, models
from rooflens.errors import BadFile, RooflensError
from rooflens.models import Choices, Model
from rooflens.readers import gguf, safetensors
from rooflens.readers.architectures import config_of
from rooflens.readers.checkpoint import Checkpoint, fitted

LARGEST_CONFIG_BYTES = 16 << 20
INDEX = "model.safetensors.index.json"
SIDE = "hf_quant_config.json"
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".h5", ".joblib", ".npy", ".npz")
_READ = "a config.json, a model folder, .safetensors, model.safetensors.index.json or .gguf"


def is_path(name: str) -> bool:
    """Whether `name` means a file or folder, and not a model of the catalogue."""
    path = Path(name)
    return path.name != name or path.suffix in (".json", ".safetensors", ".gguf", *PICKLED) or path.is_dir()


def model(path: Path, choices: Choices = models.DEFAULT) -> Model:
    """The model at this path: its config, overridden by what its tensors really take.

    Raises RooflensError in one sentence for anything that is not a model.
    """
    if path.suffix == ".gguf" or (path.is_dir() and not (path / "config.json").exists() and _ggufs(path)):
        path = _only_gguf(path) if path.is_dir() else path
        found = gguf.read(path)
        built = models.from_config(config_of(found, str(path)), path.stem, choices, str(path))
        return fitted(built, found.checkpoint)
    config = _config_path(path)
    built = models.from_config(_config(config), _name(config), choices, str(config))
    tensors = checkpoint(path) if path.suffix != ".json" or path.name.endswith(".index.json") else None
    return fitted(built, tensors) if tensors else built


def checkpoint(path: Path) -> Checkpoint | None:
    """The tensors at this path; None for a folder that has only a config. Raises RooflensError for pickled weights."""
    if path.is_dir():
        return _in_folder(path)
    if path.suffix in PICKLED:
        raise RooflensError(
            f"{path}: {path.suffix} files can run code when they are opened, so they are not; convert to .safetensors"
        )
    if path.suffix == ".gguf":
        return gguf.read(path).checkpoint
    if path.name.endswith(".index.json"):
        return safetensors.indexed(path)
    if path.suffix == ".safetensors":
        return safetensors.one_file(path)
    raise RooflensError(f"{path} is not a model file; give {_READ}")


def _in_folder(folder: Path) -> Checkpoint | None:
    """Its index, or else all of its .safetensors files."""
    if (folder / INDEX).exists():
        return safetensors.indexed(folder / INDEX)
    files = sorted(folder.glob("*.safetensors"))[: safetensors.MOST_SHARDS + 1]
    if len(files) > safetensors.MOST_SHARDS:
        raise BadFile(str(folder), [f"more than {safetensors.MOST_SHARDS} .safetensors files"])
    tensors = tuple(tensor for file in files for tensor in safetensors.one_file(file).tensors)
    twice = len(tensors) - len({tensor.name for tensor in tensors})
    if twice:
        raise BadFile(
            str(folder), [f"{twice} tensors are in two of its files and no index says which count; name a file"]
        )
    return Checkpoint(str(folder), tensors) if files else None


def _config_path(path: Path) -> Path:
    """The config.json of what `path` names. Raises RooflensError when there is none."""
    if path.is_dir():
        if (path / "config.json").exists():
            return path / "config.json"
        pickled = [file.name for file in path.iterdir() if file.suffix in PICKLED]
        why = f"; {pickled[0]} is never opened, since it can run code" if pickled else ""
        raise RooflensError(f"{path} holds no model: no config.json and no .gguf{why}")
    if path.suffix == ".json" and not path.name.endswith(".index.json"):
        return path
    if path.suffix in (".safetensors", ".json"):
        beside = path.with_name("config.json")
        if path.exists() and not beside.exists():
            raise RooflensError(f"{path}: tensors do not say the architecture; put the model's config.json beside them")
        return beside
    if path.exists() or path.suffix in PICKLED:
        checkpoint(path)
    raise RooflensError(f"cannot read {path}: no such file or folder")


def _config(path: Path) -> Mapping[str, Any]:
    """The config, with the quantisation that a file beside it may state."""
    data = _object(path)
    for side in (path.with_name(SIDE), path.with_name(f"{path.stem}.{SIDE}")):
        if "quantization_config" not in data and side.exists():
            return {**data, "quantization_config": _object(side)}
    return data


def _object(path: Path) -> Mapping[str, Any]:
    if path.exists() and not path.is_file() and not path.is_dir():
        raise RooflensError(f"{path} is not a plain file")
    data = artefacts.read_json(path, LARGEST_CONFIG_BYTES)
    if not isinstance(data, dict):
        raise RooflensError(f"{path}: expected the JSON object of a config.json, found a {type(data).__name__}")
    return data


def _name(config: Path) -> str:
    return config.resolve().parent.name if config.name == "config.json" else config.stem


def _ggufs(folder: Path) -> list[Path]:
    """One path for each GGUF model of a folder: split ones by their first file, vision towers left out."""
    files = sorted(folder.glob("*.gguf"))
    return [f for f in files if not f.name.startswith("mmproj") and gguf.split_number(f) == 1]


def _only_gguf(folder: Path) -> Path:
    found = _ggufs(folder)
    if len(found) > 1:
        names = ", ".join(path.name for path in found[:4]) + (" ..." if len(found) > 4 else "")
        raise RooflensError(f"{folder} holds {len(found)} GGUF models; name one: {names}")
    return found[0]
