"""What `rooflens ceilings` says."""

from __future__ import annotations

EN: dict[str, str] = {
    "ceilings.model": "model",
    "ceilings.weights": "weights",
    "ceilings.does_not_fit": "{rate}, does not fit: {devices} devices would",
    "ceilings.whole_file": "{model} on {machine}: {ceiling} tok/s; {whole} if the whole file were streamed, but the embedding table is only looked up",
    "ceilings.context": "batch 1, context {context}; the stored weights alone decide what fits; no column of TFLOP/s, as it would change nothing",
}

ES: dict[str, str] = {
    "ceilings.model": "modelo",
    "ceilings.weights": "pesos",
    "ceilings.does_not_fit": "{rate}, no cabe: harían falta {devices} dispositivos",
    "ceilings.whole_file": "{model} en {machine}: {ceiling} tok/s; {whole} si se leyera todo el archivo, pero la tabla de embeddings solo se consulta",
    "ceilings.context": "lote 1, contexto {context}; si cabe lo deciden solo los pesos guardados; sin columna de TFLOP/s, pues no cambiaría nada",
}

VI: dict[str, str] = {
    "ceilings.model": "mô hình",
    "ceilings.weights": "trọng số",
    "ceilings.does_not_fit": "{rate}, không vừa bộ nhớ: cần {devices} thiết bị",
    "ceilings.whole_file": "{model} trên {machine}: {ceiling} tok/s; {whole} nếu phải đọc cả tệp, nhưng bảng embedding chỉ được tra cứu",
    "ceilings.context": "batch 1, ngữ cảnh {context}; chỉ trọng số lưu trữ quyết định có vừa hay không; không có cột TFLOP/s vì nó không thay đổi gì",
}
