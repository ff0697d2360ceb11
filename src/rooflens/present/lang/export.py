"""What `rooflens export` says."""

from __future__ import annotations

EN: dict[str, str] = {
    "export.fine": "{path}: {count} targets, nothing wrong with it",
    "export.serving": "{count} targets; metrics at http://{where}/metrics, sentences at http://{where}/status; Ctrl-C ends it",
    "export.open": "warning: {where} is reachable from other machines; nobody is asked for a password there",
    "export.ended": "ended",
}

ES: dict[str, str] = {
    "export.fine": "{path}: {count} destinos, sin errores",
    "export.serving": "{count} destinos; métricas en http://{where}/metrics, frases en http://{where}/status; Ctrl-C lo termina",
    "export.open": "aviso: {where} se alcanza desde otras máquinas; allí no se pide contraseña",
    "export.ended": "terminado",
}

VI: dict[str, str] = {
    "export.fine": "{path}: {count} đích, không có lỗi",
    "export.serving": "{count} đích; số đo ở http://{where}/metrics, câu ở http://{where}/status; Ctrl-C để dừng",
    "export.open": "cảnh báo: máy khác tới được {where}; ở đó không hỏi mật khẩu",
    "export.ended": "đã dừng",
}
