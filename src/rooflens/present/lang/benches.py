"""What `rooflens bench` says."""

from __future__ import annotations

EN: dict[str, str] = {
    "bench.head": "{where}: {format}, against the roofs of {machine}",
    "bench.alone": "{where}: {format}, figures alone: --on MACHINE sets them against their ceilings",
    "bench.served": "model: {model}, {stored}",
    "bench.point": "figure",
    "bench.value": "value",
    "bench.ratio": "share",
    "bench.ceiling": "of",
    "bench.floor": "floor",
    "bench.mbu": "MBU {share}",
    "bench.mfu": "MFU {share}",
    "bench.share_of_link": "link {share}",
    "bench.counted": "{name}: {demand} = {counted}",
    "bench.means": "{name} is: {means}",
    "bench.finding": "finding: {name}: {text}",
    "bench.missing": "no share of {names}: {why}",
}

ES: dict[str, str] = {
    "bench.head": "{where}: {format}, frente a los techos de {machine}",
    "bench.alone": "{where}: {format}, solo las cifras: --on MACHINE las pone frente a sus techos",
    "bench.served": "modelo: {model}, {stored}",
    "bench.point": "cifra",
    "bench.value": "valor",
    "bench.ratio": "parte",
    "bench.ceiling": "de",
    "bench.floor": "mínimo",
    "bench.mbu": "MBU {share}",
    "bench.mfu": "MFU {share}",
    "bench.share_of_link": "enlace {share}",
    "bench.counted": "{name}: {demand} = {counted}",
    "bench.means": "{name} es: {means}",
    "bench.finding": "hallazgo: {name}: {text}",
    "bench.missing": "sin parte de {names}: {why}",
}

VI: dict[str, str] = {
    "bench.head": "{where}: {format}, so với các trần của {machine}",
    "bench.alone": "{where}: {format}, chỉ có số đo: --on MACHINE đặt chúng cạnh trần của mình",
    "bench.served": "mô hình: {model}, {stored}",
    "bench.point": "số đo",
    "bench.value": "giá trị",
    "bench.ratio": "phần",
    "bench.ceiling": "của",
    "bench.floor": "sàn",
    "bench.mbu": "MBU {share}",
    "bench.mfu": "MFU {share}",
    "bench.share_of_link": "liên kết {share}",
    "bench.counted": "{name}: {demand} = {counted}",
    "bench.means": "{name} là: {means}",
    "bench.finding": "phát hiện: {name}: {text}",
    "bench.missing": "không có phần của {names}: {why}",
}
