"""Colours, dashes and markers: safe for colour-blind eyes, told apart in grey by dash and marker as well.

Hues after Okabe and Ito (2008), darkened where they carry text on white.
"""

from __future__ import annotations

INK = "#1f2328"
SOFT = "#57606a"
FAINT = "#8c959f"
GRID = "#e6e9ec"
SHADE = "#f3f6f9"
PAPER = "#ffffff"
ALARM = "#b3261e"

_BLUE, _SKY, _GREEN, _RED, _AMBER, _ROSE, _GREY = (
    "#0064a8", "#2a93cc", "#00805e", "#c04a00", "#b07800", "#a8527f", "#4d4d4d"
)  # fmt: skip
MACHINES = (_BLUE, _RED, _GREEN, _ROSE, _GREY)
TAGS = "ABCDE"
DTYPES = {
    "fp64": _ROSE, "fp32": _BLUE, "tf32": _SKY, "fp16": _GREEN, "bf16": _GREEN,
    "fp8": _RED, "int8": _AMBER, "fp6": _GREY, "fp4": _GREY, "int4": _GREY,
}  # fmt: skip
MARKERS = {
    "fp64": "D", "fp32": "o", "tf32": "^", "fp16": "s", "bf16": "s",
    "fp8": "v", "int8": "p", "fp6": "h", "fp4": "h", "int4": "X",
}  # fmt: skip
DASHES: dict[str, tuple[float, tuple[float, ...]] | str] = {
    "sustained": "-",
    "measured": "-",
    "burst": (0.0, (7.0, 2.5)),
    "spec": (0.0, (4.0, 1.6)),
    "derived": (0.0, (1.2, 1.8)),
    "assumed": (0.0, (1.2, 1.8)),
}
PIECES = {  # of a run's time: fill, ink on it, hatch; light beside dark, so that neighbours differ in grey
    "floor": ("#00604a", PAPER, ""), "inefficiency": ("#f2b84b", INK, ""), "unknown": ("#e3e6e9", INK, "////"),
    "collectives": ("#00508a", PAPER, ""), "copies": ("#9fd2f0", INK, ""), "launch": ("#9c3a00", PAPER, ""),
    "host_idle": ("#f6cdb4", INK, ""), "unseen_idle": (PAPER, INK, "...."),
}  # fmt: skip
LINK_DASH = (0.0, (6.0, 2.0, 1.2, 2.0))


def dtype_colour(dtype: str) -> str:
    """The same colour for a dtype on every plot."""
    return DTYPES.get(dtype.split("_", maxsplit=1)[0], _GREY)


def marker(dtype: str) -> str:
    """A marker that tells dtypes apart in grey."""
    return MARKERS.get(dtype.split("_", maxsplit=1)[0], "P")
