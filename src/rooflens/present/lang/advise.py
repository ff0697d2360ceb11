"""What `rooflens advise` says."""

from __future__ import annotations

EN: dict[str, str] = {
    "advise.title": "{model} on {machine}: what gives more {goal}, one change at a time",
    "advise.goal.throughput": "tokens/s a device",
    "advise.goal.latency": "tokens/s a user",
    "advise.goal.cost": "tokens per USD",
    "advise.lever": "lever",
    "advise.gain_floor": "floor",
    "advise.gain_estimate": "expected",
    "advise.stops_at": "stops paying at",
    "advise.memory": "memory a device",
    "advise.usd": "USD/Mtoken",
    "advise.flag": "engine's option",
    "advise.no_room": "{memory}, no room",
    "advise.cannot": "cannot help here:",
    "advise.foot": "gains do not multiply: each is of one lever alone; below 1x it costs",
}

ES: dict[str, str] = {
    "advise.title": "{model} en {machine}: qué da más {goal}, un cambio cada vez",
    "advise.goal.throughput": "tokens/s por dispositivo",
    "advise.goal.latency": "tokens/s por usuario",
    "advise.goal.cost": "tokens por USD",
    "advise.lever": "palanca",
    "advise.gain_floor": "mínimo",
    "advise.gain_estimate": "esperado",
    "advise.stops_at": "deja de rendir en",
    "advise.memory": "memoria por dispositivo",
    "advise.usd": "USD/Mtoken",
    "advise.flag": "opción del motor",
    "advise.no_room": "{memory}, no cabe",
    "advise.cannot": "aquí no ayuda:",
    "advise.foot": "las ganancias no se multiplican: cada una es de una sola palanca; por debajo de 1x cuesta",
}

VI: dict[str, str] = {
    "advise.title": "{model} trên {machine}: điều gì cho thêm {goal}, mỗi lần một thay đổi",
    "advise.goal.throughput": "token/s mỗi thiết bị",
    "advise.goal.latency": "token/s mỗi người dùng",
    "advise.goal.cost": "token mỗi USD",
    "advise.lever": "đòn bẩy",
    "advise.gain_floor": "tối thiểu",
    "advise.gain_estimate": "dự kiến",
    "advise.stops_at": "hết lợi tại",
    "advise.memory": "bộ nhớ mỗi thiết bị",
    "advise.usd": "USD/Mtoken",
    "advise.flag": "tuỳ chọn của engine",
    "advise.no_room": "{memory}, không đủ chỗ",
    "advise.cannot": "không giúp được ở đây:",
    "advise.foot": "các mức lợi không nhân với nhau: mỗi mức là của một đòn bẩy; dưới 1x là thiệt",
}
