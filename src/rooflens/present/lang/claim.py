"""What `rooflens claim` says."""

from __future__ import annotations

EN: dict[str, str] = {
    "claim.claim": "claim: {text}",
    "claim.verdict": "verdict: {verdict}",
    "claim.verdict.true": "true",
    "claim.verdict.false": "false",
    "claim.verdict.true only for": "true only for",
    "claim.operator": "operator",
    "claim.batch": "batch",
    "claim.operator.decode attention": "decode attention",
    "claim.operator.decode FFN": "decode FFN",
    "claim.operator.decode step": "decode step",
    "claim.operator.prefill attention": "prefill attention",
    "claim.operator.prefill FFN": "prefill FFN",
    "claim.operator.GEMM of 8192 cubed": "GEMM of 8192 cubed",
    "claim.from_batch": "the decode FFN gains {times}x from batch {first} on ({formats})",
    "claim.batches": "the decode FFN gains {times}x at batches {first} to {last} ({formats})",
    "claim.tolerance": "compared within {tolerance}; every peak dense, links one direction",
}

ES: dict[str, str] = {
    "claim.claim": "afirmación: {text}",
    "claim.verdict": "veredicto: {verdict}",
    "claim.verdict.true": "cierto",
    "claim.verdict.false": "falso",
    "claim.verdict.true only for": "cierto solo para",
    "claim.operator": "operador",
    "claim.batch": "lote",
    "claim.operator.decode attention": "atención en decode",
    "claim.operator.decode FFN": "FFN en decode",
    "claim.operator.decode step": "paso de decode",
    "claim.operator.prefill attention": "atención en prefill",
    "claim.operator.prefill FFN": "FFN en prefill",
    "claim.operator.GEMM of 8192 cubed": "GEMM de 8192 al cubo",
    "claim.from_batch": "la FFN en decode gana {times}x desde el lote {first} ({formats})",
    "claim.batches": "la FFN en decode gana {times}x con lotes de {first} a {last} ({formats})",
    "claim.tolerance": "comparado con tolerancia {tolerance}; todos los picos densos, enlaces en un sentido",
}

VI: dict[str, str] = {
    "claim.claim": "khẳng định: {text}",
    "claim.verdict": "kết luận: {verdict}",
    "claim.verdict.true": "đúng",
    "claim.verdict.false": "sai",
    "claim.verdict.true only for": "chỉ đúng với",
    "claim.operator": "toán tử",
    "claim.batch": "batch",
    "claim.operator.decode attention": "attention khi decode",
    "claim.operator.decode FFN": "FFN khi decode",
    "claim.operator.decode step": "bước decode",
    "claim.operator.prefill attention": "attention khi prefill",
    "claim.operator.prefill FFN": "FFN khi prefill",
    "claim.operator.GEMM of 8192 cubed": "GEMM 8192 lập phương",
    "claim.from_batch": "FFN khi decode nhanh gấp {times} lần từ batch {first} trở lên ({formats})",
    "claim.batches": "FFN khi decode nhanh gấp {times} lần với batch từ {first} đến {last} ({formats})",
    "claim.tolerance": "so sánh với sai số cho phép {tolerance}; mọi đỉnh đều dense, liên kết tính một chiều",
}
