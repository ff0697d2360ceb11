"""The pictures of docs/gallery.md, each by the command that stands beside it.

    python tools/gallery.py [NAME...]    writes docs/pictures/gallery/NAME.png, all of them or these

What the commands write is 1920 x 1080 in full colour; here it gets as many colours as it needs, so that it is small.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures" / "gallery"
MOST_BYTES = 150_000
COLOURS = (128, 96, 64, 48)  # few enough to be small, the most that are

COMMANDS = {
    "cpu": "rooflens plot experiments/cpu-example -o cpu.png",
    "h200": "rooflens plot experiments/h200 -o h200.png",
    "batch": "rooflens place llama-3.1-8b --on h100-sxm5-80gb --batch 1,16,64,256 --context 4096 --plot batch.png",
    "curves": "rooflens predict llama-3.1-8b --on h100-sxm5-80gb --engine vllm --batch 1:512 --plot curves.png",
    "before": "rooflens place llama-3.1-8b --on h100-sxm5-80gb --phase prefill --prompt 8192 --attention unfused"
    " --plot before.png",
    "after": "rooflens place llama-3.1-8b --on h100-sxm5-80gb --phase prefill --prompt 8192 --attention flash"
    " --plot after.png",
    "links": "rooflens place llama-3.1-70b --on h100-sxm5-80gb --tp 8 --batch 1,64 --plot links.png",
    "eager": "rooflens kernels experiments/h200_trace/eager.json.gz --model llama-3.1-8b --batch 4 --context 1024"
    " --plot eager.png",
    "graph": "rooflens kernels experiments/h200_trace/graph.json.gz --model llama-3.1-8b --batch 4 --context 1024"
    " --plot graph.png",
    "wall": "rooflens trend --plot wall.png",
    "live": "python tools/dashboard.py tests/data/metrics/real_vllm.jsonl.gz --model tests/data/metrics/smol.json"
    " --on experiments/cpu-example/profile.json --math fp32 -o live.png",
    "phases-vi": "rooflens place llama-2-7b --on a100-sxm4-80gb --phase decode,prefill --batch 1,16 --lang vi"
    " --plot phases-vi.png",
}


def make(name: str, into: Path = PICTURES) -> Path:
    """Runs the command of one picture, from the repository's root, and writes what it drew, small, into a folder.

    Raises SystemExit when the command fails, ValueError when no number of colours is small enough.
    """
    with tempfile.TemporaryDirectory() as folder:
        drawn = Path(folder) / f"{name}.png"
        program, *words = [str(drawn) if word == drawn.name else word for word in shlex.split(COMMANDS[name])]
        if program == "rooflens":
            _run(words)
        else:
            _run_python(words)
        small = fewer_colours(drawn)
    into.mkdir(parents=True, exist_ok=True)
    (into / f"{name}.png").write_bytes(small)
    return into / f"{name}.png"


def _run(words: list[str]) -> None:
    from rooflens.cli import main

    quiet = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        try:
            main(words)
        except SystemExit as ended:
            if ended.code:
                raise SystemExit(quiet.getvalue()) from None


def _run_python(words: list[str]) -> None:
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)


def fewer_colours(picture: Path) -> bytes:
    """The picture in the most colours of COLOURS in which it is small. Raises ValueError when none makes it so."""
    from PIL import Image

    with Image.open(picture) as image:
        whole = image.convert("RGB")
    for colours in COLOURS:
        sheet = io.BytesIO()
        few = whole.quantize(colours, Image.Quantize.MEDIANCUT, kmeans=1, dither=Image.Dither.NONE)
        few.save(sheet, format="PNG", optimize=True)
        if len(sheet.getvalue()) < MOST_BYTES:
            return sheet.getvalue()
    raise ValueError(f"{picture.name} has {len(sheet.getvalue())} bytes in {COLOURS[-1]} colours")


def shown(name: str, words: str) -> str:
    """A picture as docs/gallery.md has it: its command, then itself, with what it shows in words."""
    if not (PICTURES / f"{name}.png").exists():
        raise ValueError(f"no picture {name}: python tools/gallery.py {name}")
    folder = os.path.relpath(PICTURES, ROOT / "docs")
    return f"```console\n$ {COMMANDS[name]}\n```\n\n![{words}]({folder}/{name}.png)"


def main() -> None:
    """Makes what is asked for."""
    for name in sys.argv[1:] or COMMANDS:
        path = make(name)
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
