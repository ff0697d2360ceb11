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
    "measure.waiting": "waiting until {who} has measured this machine: two at once would spoil both",
    "measure.landed": "{who} has measured this machine meanwhile; its profile is taken, nothing is measured again",
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
    "measure.waiting": "se espera a que {who} termine de medir esta máquina: dos mediciones a la vez se estropearían una a otra",
    "measure.landed": "{who} ya midió esta máquina entretanto; se toma su perfil y no se mide de nuevo",
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
    "measure.waiting": "đang chờ {who} đo xong máy này: đo hai lần cùng lúc sẽ làm hỏng cả hai",
    "measure.landed": "{who} vừa đo xong máy này; lấy profile đó, không đo lại",
}
