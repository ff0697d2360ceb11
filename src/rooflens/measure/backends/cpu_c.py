"""The small C kernel: compiled on the spot when there is a compiler, into a folder that is removed again."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

from rooflens.records import record

COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-O3", "-ffp-contract=fast", "-shared", "-fPIC")
COMPILE_LIMIT_S = 60
ADDS_A_TURN = 16

_P, _N, _LONG = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_long
_READ = (ctypes.c_uint64, (_P, _N, _LONG))
_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "rl_read_1": _READ,
    "rl_read_2": _READ,
    "rl_read_4": _READ,
    "rl_read_8": _READ,
    "rl_read_near": _READ,
    "rl_write": (None, (_P, _N, ctypes.c_uint64, _LONG)),
    "rl_copy": (None, (_P, _P, _N, _LONG)),
    "rl_triad": (None, (_P, _P, _P, _N, ctypes.c_float, _LONG)),
    "rl_spin": (ctypes.c_uint64, (_LONG, ctypes.c_uint64)),
    "rl_issue_fp32": (ctypes.c_double, (_LONG,)),
    "rl_issue_fp64": (ctypes.c_double, (_LONG,)),
    "rl_width": (ctypes.c_int, ()),
    "rl_chains": (ctypes.c_int, ()),
    "rl_nontemporal": (ctypes.c_int, ()),
}


@record
class Native:
    """The compiled kernel, or the reason that there is none. Calls into `library` let other Python threads run."""

    library: Any = None
    compiler: str | None = None
    why_not: str = ""


def load() -> Native:
    """Compile and load. Never raises: without a usable compiler `why_not` says what to install."""
    if os.name != "posix":
        return Native(why_not="the C kernel is built on Linux and macOS only")
    compiler = next((found for name in COMPILERS if (found := shutil.which(name))), None)
    if compiler is None:
        return Native(why_not="no C compiler found (looked for cc, gcc, clang); install one, then measure again")
    try:
        with tempfile.TemporaryDirectory(prefix="rooflens-") as folder:
            return _built(compiler, Path(folder))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        return Native(why_not=f"the C kernel could not be built ({why}); set TMPDIR to a folder that can be written")


def _built(compiler: str, folder: Path) -> Native:
    source, target = folder / "cpu_c.c", folder / "cpu_c.so"
    source.write_text((files(__package__) / "cpu_c.c").read_text(encoding="utf-8"), encoding="utf-8")
    said = ""
    for tuning in _tunings():
        command = [compiler, *FLAGS, *tuning, "-o", str(target), str(source)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_LIMIT_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return Native(why_not=f"{compiler} did not compile the C kernel: {error}")
        if done.returncode == 0:
            return _loaded(target, compiler)
        said = (done.stderr.strip().splitlines() or [""])[0]
    return Native(why_not=f"{compiler} could not compile the C kernel: {said}")


def _tunings() -> tuple[tuple[str, ...], ...]:
    """For this very processor, then for any of its kind."""
    native = "-march=native" if platform.machine().lower() in ("x86_64", "amd64", "i686") else "-mcpu=native"
    return (native,), ()


def _loaded(target: Path, compiler: str) -> Native:
    try:
        library = ctypes.CDLL(str(target))
    except OSError as error:
        return Native(why_not=f"the compiled C kernel could not be loaded: {error}")
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return Native(library, compiler)
