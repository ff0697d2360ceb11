"""The command `rooflens`, also as `python -m rooflens`.

What modules make lives to the end, so the collector of garbage stays away while they load and when they are dropped:
it would take a tenth of the time of a short command.
"""

from __future__ import annotations

import gc


def main() -> None:
    """Opens the door with the collector off; the door turns it on before a verb runs."""
    gc.disable()
    from rooflens import cli

    try:
        cli.main()
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
