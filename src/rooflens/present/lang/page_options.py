"""What the further options of the page are called beside their fields; each is an option of `predict`."""

from __future__ import annotations

EN: dict[str, str] = {
    "page.dp": "replicas (DP)",
    "page.tokens": "tokens a step verifies",
    "page.acceptance": "drafts accepted, 0 to 1",
    "page.prompt": "prompt, tokens",
    "page.output": "output, tokens",
    "page.attention": "attention",
    "page.mask": "mask",
    "page.gpus_per_node": "GPUs a node",
    "page.routing_skew": "routing skew",
    "page.memory_fraction": "memory fraction, 0 to 1",
    "page.block_tokens": "tokens a KV block",
    "page.batched_tokens": "tokens a batched step",
    "page.runtime_bytes": "driver and libraries, GB",
    "page.graph_bytes": "CUDA graphs, GB",
    "page.measured_tokens_per_s": "measured tokens/s",
    "page.as_usual": "default",
}

ES: dict[str, str] = {
    "page.dp": "réplicas (DP)",
    "page.tokens": "tokens que un paso verifica",
    "page.acceptance": "borradores aceptados, de 0 a 1",
    "page.prompt": "prompt, tokens",
    "page.output": "salida, tokens",
    "page.attention": "attention",
    "page.mask": "máscara",
    "page.gpus_per_node": "GPU por nodo",
    "page.routing_skew": "sesgo del enrutado",
    "page.memory_fraction": "fracción de memoria, de 0 a 1",
    "page.block_tokens": "tokens por bloque de KV",
    "page.batched_tokens": "tokens por paso agrupado",
    "page.runtime_bytes": "driver y bibliotecas, GB",
    "page.graph_bytes": "grafos de CUDA, GB",
    "page.measured_tokens_per_s": "tokens/s medidos",
    "page.as_usual": "lo habitual",
}

VI: dict[str, str] = {
    "page.dp": "bản sao (DP)",
    "page.tokens": "token mỗi bước kiểm",
    "page.acceptance": "bản nháp được nhận, 0 đến 1",
    "page.prompt": "prompt, token",
    "page.output": "đầu ra, token",
    "page.attention": "attention",
    "page.mask": "mặt nạ",
    "page.gpus_per_node": "GPU mỗi nút",
    "page.routing_skew": "độ lệch định tuyến",
    "page.memory_fraction": "phần bộ nhớ, 0 đến 1",
    "page.block_tokens": "token mỗi khối KV",
    "page.batched_tokens": "token mỗi bước gộp",
    "page.runtime_bytes": "driver và thư viện, GB",
    "page.graph_bytes": "CUDA graph, GB",
    "page.measured_tokens_per_s": "token/s đo được",
    "page.as_usual": "mặc định",
}
