"""What `rooflens plan` says."""

from __future__ import annotations

EN: dict[str, str] = {
    "plan.title": "{model} for {users} users at once, prompts of {prompt} and answers of {output} tokens, TTFT within {ttft}, TPOT within {tpot}: the cheapest first",
    "plan.machine": "machine",
    "plan.layout": "layout",
    "plan.devices": "devices",
    "plan.batch": "users each",
    "plan.tpot": "TPOT",
    "plan.ttft": "TTFT",
    "plan.limit": "limit",
    "plan.hour": "USD/h",
    "plan.usd": "USD/Mtoken",
    "plan.limit.users": "users",
    "plan.limit.memory": "memory",
    "plan.limit.TPOT": "TPOT",
    "plan.more": "and {count} more; --json has all",
    "plan.missed": "not met on:",
}

ES: dict[str, str] = {
    "plan.title": "{model} para {users} usuarios a la vez, prompts de {prompt} y respuestas de {output} tokens, TTFT en {ttft}, TPOT en {tpot}: primero lo más barato",
    "plan.machine": "máquina",
    "plan.layout": "reparto",
    "plan.devices": "dispositivos",
    "plan.batch": "usuarios por réplica",
    "plan.tpot": "TPOT",
    "plan.ttft": "TTFT",
    "plan.limit": "límite",
    "plan.hour": "USD/h",
    "plan.usd": "USD/Mtoken",
    "plan.limit.users": "usuarios",
    "plan.limit.memory": "memoria",
    "plan.limit.TPOT": "TPOT",
    "plan.more": "y {count} más; --json los tiene todos",
    "plan.missed": "no se cumple en:",
}

VI: dict[str, str] = {
    "plan.title": "{model} cho {users} người dùng cùng lúc, prompt {prompt} và trả lời {output} token, TTFT trong {ttft}, TPOT trong {tpot}: rẻ nhất trước",
    "plan.machine": "máy",
    "plan.layout": "bố trí",
    "plan.devices": "thiết bị",
    "plan.batch": "người dùng mỗi bản",
    "plan.tpot": "TPOT",
    "plan.ttft": "TTFT",
    "plan.limit": "giới hạn",
    "plan.hour": "USD/giờ",
    "plan.usd": "USD/Mtoken",
    "plan.limit.users": "người dùng",
    "plan.limit.memory": "bộ nhớ",
    "plan.limit.TPOT": "TPOT",
    "plan.more": "và {count} nữa; --json có tất cả",
    "plan.missed": "không đạt trên:",
}
