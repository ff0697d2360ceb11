"""What `rooflens measure` says."""

from __future__ import annotations

EN: dict[str, str] = {
    "measure.ceiling": "ceiling",
    "measure.value": "value",
    "measure.spread": "spread",
    "measure.samples": "samples",
    "measure.trusted": "trusted",
    "measure.slowest": "slowest",
    "measure.figure": "its figure",
    "measure.median": "median",
    "measure.of_median": "of the median",
    "measure.across": "all devices at once:",
    "measure.yes": "yes",
    "measure.no": "no: {why}",
    "measure.skipped": "skipped: {text}",
    "measure.contention": "contention: {text}",
    "measure.throttle": "throttle: {text}",
}

ES: dict[str, str] = {
    "measure.ceiling": "techo",
    "measure.value": "valor",
    "measure.spread": "dispersión",
    "measure.samples": "muestras",
    "measure.trusted": "fiable",
    "measure.slowest": "el más lento",
    "measure.figure": "su cifra",
    "measure.median": "mediana",
    "measure.of_median": "de la mediana",
    "measure.across": "todos los dispositivos a la vez:",
    "measure.yes": "sí",
    "measure.no": "no: {why}",
    "measure.skipped": "sin medir: {text}",
    "measure.contention": "contención: {text}",
    "measure.throttle": "throttling: {text}",
}

VI: dict[str, str] = {
    "measure.ceiling": "trần",
    "measure.value": "giá trị",
    "measure.spread": "độ phân tán",
    "measure.samples": "số mẫu",
    "measure.trusted": "đáng tin",
    "measure.slowest": "chậm nhất",
    "measure.figure": "số liệu của nó",
    "measure.median": "trung vị",
    "measure.of_median": "so với trung vị",
    "measure.across": "mọi thiết bị cùng lúc:",
    "measure.yes": "có",
    "measure.no": "không: {why}",
    "measure.skipped": "không đo: {text}",
    "measure.contention": "tranh chấp: {text}",
    "measure.throttle": "throttling: {text}",
}
