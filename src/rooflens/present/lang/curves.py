"""What curves over a load say."""

from __future__ import annotations

EN: dict[str, str] = {
    "curves.time": "time per output token, ms",
    "curves.rate": "output tokens/s of all sequences",
    "curves.batch": "batch (sequences)",
    "curves.context": "context (tokens)",
    "curves.floor": "roof: nothing beats it",
    "curves.expected": "expected",
    "curves.band": "four cases of five",
    "curves.knee": "dashed line: up to a batch of {batch}, batching is nearly free (90 % of proportional tokens/s)",
}

ES: dict[str, str] = {
    "curves.time": "tiempo por token de salida, ms",
    "curves.rate": "tokens/s de salida de todas las secuencias",
    "curves.batch": "batch (secuencias)",
    "curves.context": "contexto (tokens)",
    "curves.floor": "techo: nada lo supera",
    "curves.expected": "esperado",
    "curves.band": "cuatro casos de cinco",
    "curves.knee": "línea discontinua: hasta un batch de {batch} agrupar es casi gratis (90 % de lo proporcional)",
}

VI: dict[str, str] = {
    "curves.time": "thời gian mỗi token đầu ra, ms",
    "curves.rate": "token/s đầu ra của mọi chuỗi",
    "curves.batch": "batch (chuỗi)",
    "curves.context": "ngữ cảnh (token)",
    "curves.floor": "trần: không gì vượt được",
    "curves.expected": "dự kiến",
    "curves.band": "bốn trên năm trường hợp",
    "curves.knee": "đường đứt: đến batch {batch}, gộp gần như miễn phí (90 % so với tỉ lệ thuận)",
}
