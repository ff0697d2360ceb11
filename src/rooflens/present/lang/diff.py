"""What `rooflens diff` says."""

from __future__ import annotations

EN: dict[str, str] = {
    "diff.measured": "measured",
    "diff.old": "old",
    "diff.new": "new",
    "diff.ratio": "speed ratio",
    "diff.outcome": "outcome",
    "diff.why": "why",
    "diff.interval": "{ratio} ({low} to {high})",
    "diff.verdict": "verdict: {verdict} (tolerance {tolerance})",
    "diff.outcome.same": "same",
    "diff.outcome.faster": "faster",
    "diff.outcome.slower": "slower",
    "diff.outcome.ambiguous": "ambiguous",
    "diff.outcome.only in old": "only in old",
    "diff.outcome.only in new": "only in new",
}

ES: dict[str, str] = {
    "diff.measured": "medido",
    "diff.old": "antes",
    "diff.new": "ahora",
    "diff.ratio": "razón de velocidad",
    "diff.outcome": "resultado",
    "diff.why": "por qué",
    "diff.interval": "{ratio} (de {low} a {high})",
    "diff.verdict": "veredicto: {verdict} (tolerancia {tolerance})",
    "diff.outcome.same": "igual",
    "diff.outcome.faster": "más rápido",
    "diff.outcome.slower": "más lento",
    "diff.outcome.ambiguous": "ambiguo",
    "diff.outcome.only in old": "solo antes",
    "diff.outcome.only in new": "solo ahora",
}

VI: dict[str, str] = {
    "diff.measured": "đại lượng đo",
    "diff.old": "cũ",
    "diff.new": "mới",
    "diff.ratio": "tỉ số tốc độ",
    "diff.outcome": "kết quả",
    "diff.why": "lý do",
    "diff.interval": "{ratio} ({low} đến {high})",
    "diff.verdict": "kết luận: {verdict} (dung sai {tolerance})",
    "diff.outcome.same": "như nhau",
    "diff.outcome.faster": "nhanh hơn",
    "diff.outcome.slower": "chậm hơn",
    "diff.outcome.ambiguous": "chưa phân định",
    "diff.outcome.only in old": "chỉ có ở bản cũ",
    "diff.outcome.only in new": "chỉ có ở bản mới",
}
