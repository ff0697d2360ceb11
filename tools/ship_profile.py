"""A measured profile as it ships with the package: without its samples, whose medians and best values stay.

python tools/ship_profile.py experiments/h200/profile.json src/rooflens/profiles/h200-sxm-141gb.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SAMPLES = ("samples", "samples_s")
DIGITS = 6


def lighter(value: Any) -> Any:
    """The same without samples and gates, numbers to six digits, sizes as they are."""
    if isinstance(value, dict):
        kept = {key: one for key, one in value.items() if key not in (*SAMPLES, "gates")}
        return {key: one if key == "bytes" else lighter(one) for key, one in kept.items()}
    if isinstance(value, list):
        return [lighter(one) for one in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def main() -> None:
    """Reads the one, writes the other."""
    source, target = map(Path, sys.argv[1:3])
    plain = lighter(json.loads(source.read_text(encoding="utf-8")))
    target.write_text(json.dumps(plain, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
