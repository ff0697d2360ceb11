"""What `rooflens fit` says."""

from __future__ import annotations

EN: dict[str, str] = {
    "fit.title": "{model} on {machine} ({engine}), {points} points of your own",
    "fit.factors": "times the general constants: time at the reached roofs {roofs}, fixed costs {fixed}, others' prompts {prompts}",
    "fit.errors": "median error on these points {before} before, {after} after",
}

ES: dict[str, str] = {
    "fit.title": "{model} en {machine} ({engine}), {points} puntos propios",
    "fit.factors": "por las constantes generales: tiempo en los techos alcanzados {roofs}, costes fijos {fixed}, prompts de otros {prompts}",
    "fit.errors": "error mediano en estos puntos: {before} antes, {after} después",
}

VI: dict[str, str] = {
    "fit.title": "{model} trên {machine} ({engine}), {points} điểm đo của bạn",
    "fit.factors": "nhân với các hằng số chung: thời gian ở trần đạt được {roofs}, chi phí cố định {fixed}, prompt của người khác {prompts}",
    "fit.errors": "sai số trung vị trên các điểm này: {before} trước, {after} sau",
}
