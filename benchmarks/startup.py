"""What a command costs before and while it answers: processor seconds, and how many times those of Python alone.

    python benchmarks/startup.py [ROUNDS]

Each command runs ROUNDS times (20), in turns with the others, so that a busy spell meets all of them. Processor time
of the process (user + system) is counted, since others disturb it less than the wall. Compiled modules must be kept:
PYTHONDONTWRITEBYTECODE is taken out of the environment, and one round goes before the ones that count.
Wanted: `import rooflens` 30 ms over Python at most, --help 0.15 s, place 0.25 s, predict 0.3 s.
"""

from __future__ import annotations

import os
import platform
import sys
from datetime import datetime
from statistics import median

PLACE = ("place", "llama-2-7b", "--on", "a100-sxm4-80gb")
COMMANDS = {
    "python -c pass": ("-c", "pass"),
    "import rooflens": ("-c", "import rooflens"),
    "import click": ("-c", "import click"),
    "rooflens --help": ("-m", "rooflens", "--help"),
    "rooflens place --json": ("-m", "rooflens", *PLACE, "--json"),
    "rooflens place": ("-m", "rooflens", *PLACE),
    "rooflens predict --json": ("-m", "rooflens", "predict", *PLACE[1:], "--json"),
    "rooflens models": ("-m", "rooflens", "models", "llama-2-7b", "--json"),
    "rooflens machines": ("-m", "rooflens", "machines", "a100-sxm4-80gb", "--json"),
}


def main(rounds: int) -> None:
    """Prints a line a command."""
    today = datetime.now().astimezone().date()
    print(f"{today}  Python {platform.python_version()}  least and median of {rounds} runs")
    spent: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for i in range(rounds + 1):
        for name, arguments in COMMANDS.items():
            seconds = cpu_s(arguments)
            spent[name] += [seconds] if i else []
    least, middle = min(spent["python -c pass"]), median(spent["python -c pass"])
    for name, found in spent.items():
        ratios = f"{min(found) / least:5.2f} {median(found) / middle:5.2f} times Python"
        print(f"{name:22} {1e3 * min(found):5.0f} {1e3 * median(found):5.0f} ms   {ratios}")


def cpu_s(arguments: tuple[str, ...]) -> float:
    """Processor seconds of one run of this Python. Raises SystemExit when the run fails."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(sys.executable, [sys.executable, *arguments], environment, file_actions=silent)
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{' '.join(arguments)} failed")
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
