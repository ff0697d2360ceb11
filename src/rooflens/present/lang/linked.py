"""Sentences that reach the screen as data, as in `retold`: what was odd about links, and which were not measured."""

from __future__ import annotations

EN: dict[str, str] = {
    "retold.links.alone": "there is {count} device here, and two or more are joined",
    "retold.links.down": "device {index}: {count} of {all} NVLinks are down",
    "retold.links.waits": "all that goes to it waits",
    "retold.links.differ": "the devices differ ({names}): collectives go at the pace of the slowest",
    "retold.links.behind": "{pair} copies {rate} over {link}, {share} of the median of {count} pairs",
    "retold.links.staged": "{pair}: no direct access: staged through the host",
    "retold.links.no_nccl": "NCCL is not installed or does not load",
    "retold.links.install": "pip install nvidia-nccl-cu13 (cu12 beside CuPy for CUDA 12)",
    "retold.links.memory": "{device} has under {size} of free memory",
    "retold.links.built": "this torch was built without torch.distributed",
    "retold.links.join": "{count} {what}: joining gave no answer within {time} s and was ended",
    "retold.links.hung": "{count} {what}: {operation} of {size}, called one by one gave no answer within {time} s and was ended",
    "retold.links.hung_graph": "{count} {what}: {operation} of {size}, replayed from a graph gave no answer within {time} s and was ended",
    "retold.links.left": "its larger sizes are left out",
    "retold.links.gone": "{count} {what}: the process of number {rank} ended without a word at {where}",
    "retold.links.host": "no link between devices was measured: what {link} carries from the host stands for it",
    "retold.links.beyond": "{operation} over {count} devices was not measured: it is worked out from {group}, by the steps and bytes of its algorithm",
}

ES: dict[str, str] = {
    "retold.links.alone": "aquí hay {count} dispositivo, y se unen dos o más",
    "retold.links.down": "dispositivo {index}: {count} de {all} NVLinks están caídos",
    "retold.links.waits": "todo lo que va hacia él espera",
    "retold.links.differ": "los dispositivos difieren ({names}): las colectivas van al paso del más lento",
    "retold.links.behind": "{pair} copia {rate} por {link}, {share} de la mediana de {count} pares",
    "retold.links.staged": "{pair}: sin acceso directo: pasa por el host",
    "retold.links.no_nccl": "NCCL no está instalado o no se carga",
    "retold.links.install": "instálelo: pip install nvidia-nccl-cu13 (cu12 junto a CuPy para CUDA 12)",
    "retold.links.memory": "{device} tiene menos de {size} de memoria libre",
    "retold.links.built": "este torch se compiló sin torch.distributed",
    "retold.links.join": "{count} {what}: al reunirse no hubo respuesta en {time} s y se terminó",
    "retold.links.hung": "{count} {what}: {operation} de {size}, llamada una a una, no respondió en {time} s y se terminó",
    "retold.links.hung_graph": "{count} {what}: {operation} de {size}, repetida desde un grafo, no respondió en {time} s y se terminó",
    "retold.links.left": "sus tamaños mayores quedan fuera",
    "retold.links.gone": "{count} {what}: el proceso número {rank} terminó sin decir nada en {where}",
    "retold.links.host": "no se midió ningún enlace entre dispositivos: en su lugar cuenta lo que {link} lleva desde el host",
    "retold.links.beyond": "{operation} entre {count} dispositivos no se midió: se deduce de {group}, por los pasos y los bytes de su algoritmo",
}

VI: dict[str, str] = {
    "retold.links.alone": "ở đây có {count} thiết bị, cần từ hai trở lên để nối",
    "retold.links.down": "thiết bị {index}: {count} trên {all} NVLink bị mất",
    "retold.links.waits": "mọi thứ gửi tới nó đều phải chờ",
    "retold.links.differ": "các thiết bị khác nhau ({names}): thao tác tập thể đi theo nhịp của cái chậm nhất",
    "retold.links.behind": "{pair} sao chép {rate} qua {link}, bằng {share} trung vị của {count} cặp",
    "retold.links.staged": "{pair}: không có truy cập trực tiếp: đi vòng qua host",
    "retold.links.no_nccl": "NCCL chưa được cài hoặc không nạp được",
    "retold.links.install": "cài bằng: pip install nvidia-nccl-cu13 (cu12 cùng CuPy cho CUDA 12)",
    "retold.links.memory": "{device} còn dưới {size} bộ nhớ trống",
    "retold.links.built": "bản torch này được dựng không có torch.distributed",
    "retold.links.join": "{count} {what}: khi gặp nhau không có trả lời trong {time} s và đã bị kết thúc",
    "retold.links.hung": "{count} {what}: {operation} cỡ {size}, gọi từng lần một, không trả lời trong {time} s và đã bị kết thúc",
    "retold.links.hung_graph": "{count} {what}: {operation} cỡ {size}, phát lại từ graph, không trả lời trong {time} s và đã bị kết thúc",
    "retold.links.left": "các cỡ lớn hơn của nó bị bỏ qua",
    "retold.links.gone": "{count} {what}: tiến trình số {rank} kết thúc không nói gì ở {where}",
    "retold.links.host": "chưa đo liên kết nào giữa các thiết bị: thay vào đó là những gì {link} chở từ host",
    "retold.links.beyond": "chưa đo {operation} giữa {count} thiết bị: được suy ra từ {group}, theo số bước và số byte của thuật toán",
}
