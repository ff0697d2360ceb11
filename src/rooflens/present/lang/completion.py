"""What `rooflens completion` says."""

from __future__ import annotations

EN: dict[str, str] = {
    "completion.shell": "shell",
    "completion.file": "into",
    "completion.line": "the line",
    "completion.after": "It works in the next shell that starts.",
}

ES: dict[str, str] = {
    "completion.shell": "shell",
    "completion.file": "en",
    "completion.line": "la línea",
    "completion.after": "Funciona en la próxima shell que se abra.",
}

VI: dict[str, str] = {
    "completion.shell": "shell",
    "completion.file": "vào tệp",
    "completion.line": "dòng cần thêm",
    "completion.after": "Có hiệu lực ở shell mở kế tiếp.",
}
