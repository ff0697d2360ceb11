"""What every verb says in the same words: notes, origins, what binds, what is not known."""

from __future__ import annotations

EN: dict[str, str] = {
    "frame.note": "note: {text}",
    "frame.warning": "warning: {text}",
    "frame.unknown": "unknown",
    "frame.not_trusted": "not trusted: {why}",
    "frame.bound.compute": "compute",
    "frame.bound.memory": "memory",
    "frame.bound.link": "link",
    "frame.bound.launch": "launch",
    "frame.bound.below-roof": "below-roof",
    "frame.bound.none": "none",
    "frame.origin.spec": "spec",
    "frame.origin.derived": "derived",
    "frame.origin.measured": "measured",
    "frame.origin.assumed": "assumed",
}

ES: dict[str, str] = {
    "frame.note": "nota: {text}",
    "frame.warning": "aviso: {text}",
    "frame.unknown": "desconocido",
    "frame.not_trusted": "no fiable: {why}",
    "frame.bound.compute": "cómputo",
    "frame.bound.memory": "memoria",
    "frame.bound.link": "enlace",
    "frame.bound.launch": "lanzamiento",
    "frame.bound.below-roof": "bajo el techo",
    "frame.bound.none": "nada",
    "frame.origin.spec": "hoja de datos",
    "frame.origin.derived": "derivado",
    "frame.origin.measured": "medido",
    "frame.origin.assumed": "supuesto",
}

VI: dict[str, str] = {
    "frame.note": "ghi chú: {text}",
    "frame.warning": "cảnh báo: {text}",
    "frame.unknown": "không rõ",
    "frame.not_trusted": "không đáng tin: {why}",
    "frame.bound.compute": "tính toán",
    "frame.bound.memory": "bộ nhớ",
    "frame.bound.link": "liên kết",
    "frame.bound.launch": "khởi chạy",
    "frame.bound.below-roof": "dưới trần",
    "frame.bound.none": "không gì",
    "frame.origin.spec": "datasheet",
    "frame.origin.derived": "suy ra",
    "frame.origin.measured": "đo được",
    "frame.origin.assumed": "giả định",
}
