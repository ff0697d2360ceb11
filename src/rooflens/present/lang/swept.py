"""Sentences that reach the screen as data, as in `retold`: why points of a grid have no row."""

from __future__ import annotations

EN: dict[str, str] = {
    "retold.point_too_long": "{model} was made for {positions} positions, and more are asked for",
    "retold.point_under_prompt": "a context counts the prompt too, and is under its tokens here",
    "retold.point_too_large": "does not fit",
}

ES: dict[str, str] = {
    "retold.point_too_long": "{model} se hizo para {positions} posiciones, y se piden más",
    "retold.point_under_prompt": "un contexto cuenta también el prompt, y aquí tiene menos tokens que él",
    "retold.point_too_large": "no cabe",
}

VI: dict[str, str] = {
    "retold.point_too_long": "{model} được tạo cho {positions} vị trí, và ở đây hỏi nhiều hơn",
    "retold.point_under_prompt": "ngữ cảnh tính cả prompt, và ở đây ít token hơn prompt",
    "retold.point_too_large": "không vừa bộ nhớ",
}
