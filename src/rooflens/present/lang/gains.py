"""The table of predicted and measured speed-ups, in every language."""

from __future__ import annotations

EN: dict[str, str] = {
    "lab.gains": "4. Speed-ups, predicted and measured",
    "lab.across": "All devices at once",
    "lab.across.text": "Every device was measured at the same time as the others, stage by stage, then this one alone. A rate "
    "beside the median shows which device is behind; the table's figures are those of the run with all.",
    "lab.across.head": "| ceiling | slowest | its figure | median | of the median |",
    "gain.text": "A prediction is the ratio of two prices on the roofs measured here: for every kernel the largest demand "
    "over rate, plus its launches. With several sequences it counts tokens per second. The error is predicted over "
    "measured, less 1; over {most} it has its reason, which is that of the end that misses its price by more.",
    "gain.launch_device": "A launch costs {time} on the device ({at}).",
    "gain.launch_host": "Where Python starts each kernel, a step takes at least {time} a launch ({at}).",
    "gain.head": "| change | where | predicted | measured | error | why | before / after |",
    "gain.fused": "naive to fused, replayed",
    "gain.blocked": "prefill, naive to blocked",
    "gain.fp16": "fp32 to fp16",
    "gain.int8": "fp16 to int8 cache",
    "gain.batch": "batch {before} to {after}",
    "gain.before": "before",
    "gain.after": "after",
    "gain.why.launch": "{end} is launch-bound: {overhead} of its {time} pass over a single cached token too, {calls} x {each} "
    "where a bare launch takes {bare}",
    "gain.why.resident": "{end} takes {time}, less than its price of {price}: what it reads fits in the {cache} of L2",
    "gain.why.above": "{end} takes {time}, less than its price of {price}, and does not fit in L2: a roof is too low",
    "gain.why.size": "{end} is too small to fill the machine: with {bytes} a launch it takes {time}, its price is {price} "
    "({reached} of attainable); the same code reaches {best} with {best_bytes}",
    "gain.why.code": "{end} is limited by its code: {reached} of attainable, and no cell of this run in which this kernel reaches more "
    "than {best}",
}

ES: dict[str, str] = {
    "lab.gains": "4. Aceleraciones, previstas y medidas",
    "lab.across": "Todos los dispositivos a la vez",
    "lab.across.text": "Cada dispositivo se midió al mismo tiempo que los demás, etapa por etapa, y después este solo. Un "
    "rendimiento junto a la mediana muestra cuál se queda atrás; las cifras de la tabla son las de la ejecución con todos.",
    "lab.across.head": "| techo | el más lento | su cifra | mediana | de la mediana |",
    "gain.text": "Una previsión es la razón de dos precios bajo los techos medidos aquí: en cada kernel, la mayor demanda "
    "entre su tasa, más sus lanzamientos. Con varias secuencias cuenta tokens por segundo. El error es lo previsto entre lo "
    "medido, menos 1; por encima de {most} lleva su razón, la del extremo que más se aparta de su precio.",
    "gain.launch_device": "Un lanzamiento cuesta {time} en el dispositivo ({at}).",
    "gain.launch_host": "Donde Python lanza cada kernel, un paso tarda al menos {time} por lanzamiento ({at}).",
    "gain.head": "| cambio | dónde | previsto | medido | error | por qué | antes / después |",
    "gain.fused": "naive a fusionada, repetida desde un grafo",
    "gain.blocked": "prefill, naive a por bloques",
    "gain.fp16": "fp32 a fp16",
    "gain.int8": "fp16 a caché int8",
    "gain.batch": "batch {before} a {after}",
    "gain.before": "antes",
    "gain.after": "después",
    "gain.why.launch": "{end}: limita el lanzamiento; {overhead} de sus {time} pasan también con un solo token en caché, "
    "{calls} x {each} donde un lanzamiento vacío tarda {bare}",
    "gain.why.resident": "{end}: tarda {time}, menos que su precio de {price}: lo que lee cabe en los {cache} de la L2",
    "gain.why.above": "{end}: tarda {time}, menos que su precio de {price}, y no cabe en la L2: un techo es demasiado bajo",
    "gain.why.size": "{end}: demasiado pequeño para llenar la máquina; con {bytes} por lanzamiento tarda {time} y su precio es "
    "{price} ({reached} de lo alcanzable); el mismo código llega a {best} con {best_bytes}",
    "gain.why.code": "{end}: limita su código; {reached} de lo alcanzable, y ninguna celda de esta ejecución en que pase de {best}",
}

VI: dict[str, str] = {
    "lab.gains": "4. Mức tăng tốc: dự đoán và đo được",
    "lab.across": "Mọi thiết bị cùng lúc",
    "lab.across.text": "Mỗi thiết bị được đo cùng lúc với các thiết bị khác, từng bước một, rồi thiết bị này được đo riêng. "
    "So với trung vị, ta thấy thiết bị nào chậm hơn; số liệu trong bảng là của lần chạy với tất cả.",
    "lab.across.head": "| trần | chậm nhất | số liệu của nó | trung vị | so với trung vị |",
    "gain.text": "Mỗi dự đoán là tỉ số của hai giá dưới các trần đo ở đây: với mỗi kernel là nhu cầu chia cho tốc độ lớn nhất, "
    "cộng các launch của nó. Với nhiều chuỗi, nó đếm token mỗi giây. Sai số là dự đoán chia cho đo được, trừ 1; trên {most} "
    "thì kèm lý do, là lý do của đầu lệch khỏi giá nhiều hơn.",
    "gain.launch_device": "Một launch tốn {time} trên thiết bị ({at}).",
    "gain.launch_host": "Khi Python khởi động từng kernel, một bước mất ít nhất {time} cho mỗi launch ({at}).",
    "gain.head": "| thay đổi | ở đâu | dự đoán | đo được | sai số | vì sao | trước / sau |",
    "gain.fused": "naive sang gộp, phát lại từ graph",
    "gain.blocked": "prefill, naive sang theo khối",
    "gain.fp16": "fp32 sang fp16",
    "gain.int8": "cache fp16 sang int8",
    "gain.batch": "batch {before} lên {after}",
    "gain.before": "trước",
    "gain.after": "sau",
    "gain.why.launch": "{end}: bị giới hạn bởi launch; {overhead} trong {time} cũng mất với chỉ một token trong cache, "
    "{calls} x {each} trong khi một launch rỗng mất {bare}",
    "gain.why.resident": "{end}: mất {time}, ít hơn giá {price}: những gì nó đọc nằm vừa trong {cache} của L2",
    "gain.why.above": "{end}: mất {time}, ít hơn giá {price}, mà không vừa trong L2: một trần đo quá thấp",
    "gain.why.size": "{end}: quá nhỏ để lấp đầy máy; với {bytes} mỗi launch nó mất {time}, giá của nó là {price} ({reached} của "
    "mức có thể đạt); cùng mã ấy đạt {best} với {best_bytes}",
    "gain.why.code": "{end}: bị giới hạn bởi mã; {reached} của mức có thể đạt, và không ô nào của lần chạy này nó vượt {best}",
}
