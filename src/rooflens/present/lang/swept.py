"""Sentences that reach the screen as data, as in `retold`: why points of a grid have no row, and what a sweep on Ray waits for."""

from __future__ import annotations

EN: dict[str, str] = {
    "retold.point_too_long": "{model} was made for {positions} positions, and more are asked for",
    "retold.point_under_prompt": "a context counts the prompt too, and is under its tokens here",
    "retold.point_too_large": "does not fit",
    "retold.of_sweep_again": "{why}: shard {shard} is tried again, elsewhere where possible ({count} of {all})",
    "retold.of_sweep_late": "a worker gave nothing within {time} s",
    "retold.of_sweep_lost": "a worker was lost ({said})",
    "retold.of_sweep_all_in_use": "the cluster's processors, {count}, are all in use by others or by workers being set up: waiting for one",
    "retold.of_sweep_none_left": "the cluster offers no processor any more: waiting for a node that does",
}

ES: dict[str, str] = {
    "retold.point_too_long": "{model} se hizo para {positions} posiciones, y se piden más",
    "retold.point_under_prompt": "un contexto cuenta también el prompt, y aquí tiene menos tokens que él",
    "retold.point_too_large": "no cabe",
    "retold.of_sweep_again": "{why}: la parte {shard} se intenta otra vez, en otro sitio si lo hay ({count} de {all})",
    "retold.of_sweep_late": "un worker no dio nada en {time} s",
    "retold.of_sweep_lost": "se perdió un worker ({said})",
    "retold.of_sweep_all_in_use": "los procesadores del clúster, {count}, están todos ocupados por otros o por workers que se preparan: se espera uno",
    "retold.of_sweep_none_left": "el clúster ya no ofrece ningún procesador: se espera un nodo que lo haga",
}

VI: dict[str, str] = {
    "retold.point_too_long": "{model} được tạo cho {positions} vị trí, và ở đây hỏi nhiều hơn",
    "retold.point_under_prompt": "ngữ cảnh tính cả prompt, và ở đây ít token hơn prompt",
    "retold.point_too_large": "không vừa bộ nhớ",
    "retold.of_sweep_again": "{why}: phần {shard} được thử lại, ở nơi khác nếu có ({count} trên {all})",
    "retold.of_sweep_late": "một worker không trả gì trong {time} s",
    "retold.of_sweep_lost": "mất một worker ({said})",
    "retold.of_sweep_all_in_use": "các bộ xử lý của cụm, {count}, đều đang bận vì việc khác hoặc vì worker đang được chuẩn bị: đang chờ một bộ",
    "retold.of_sweep_none_left": "cụm không còn bộ xử lý nào: đang chờ một node có bộ xử lý",
}
