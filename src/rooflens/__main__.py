"""The command `rooflens`, also as `python -m rooflens`.

What modules make lives to the end, so the collector of garbage stays away while they load and when they are dropped:
it would take a tenth of the time of a short command.
"""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Opens the door with the collector off; the door turns it on before a verb runs."""
    gc.disable()
    try:
        from rooflens import cli
    except KeyboardInterrupt:
        sys.exit(_stopped())
    try:
        cli.main()
    finally:
        gc.freeze()


def _stopped() -> int:
    """Interrupted before the door was there to say so."""
    sys.stderr.write("rooflens: stopped before it began; start it again\n")
    return 2


if __name__ == "__main__":
    main()
