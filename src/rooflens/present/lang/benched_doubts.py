"""Sentences about benchmarks that reach the screen as data: findings, and notes."""

from __future__ import annotations

EN: dict[str, str] = {
    # findings: what is over 100 %, and what denies itself
    "retold.over.decode": "{share} of {roof} of {machine}: suspect fewer bits or fewer active experts than were "
    "counted, drafts, prompt tokens counted as generated ones, more devices than were named, or another machine",
    "retold.over.measured": "the roof {roof} was measured as {value} and is too low: measure it again",
    "retold.over.cache": "{share} of {roof} of {machine}: that is a cache, since its arrays of {bytes} are kept by "
    "the last one ({cache}); make them larger",
    "retold.over.arrays": "{share} of {roof} of {machine}: suspect arrays that stayed in a cache, bytes counted "
    "twice, or another machine",
    "retold.over.switch": "{share} of {roof} of {machine}: in-switch reduction (NVLS, SHARP) explains it, which "
    "sends less than the bus figure counts; its algorithm bandwidth is {inner} of the link",
    "retold.over.directions": "{share} of {roof} of {machine}: suspect both directions counted as one, a faster link "
    "than the one named, or another machine",
    "retold.over.link": "{share} of {roof} of {machine}: suspect a faster link than the one named, or another machine",
    "retold.over.others": "{share} of {roof} of {machine}, of other roofs {others}: suspect that it ran in one of "
    "these, a wrong count of FLOPs, or another machine",
    "retold.over.compute": "{share} of {roof} of {machine}: suspect a wrong count of FLOPs, more devices than were "
    "named, or another machine",
    "retold.over.ttft": "{value} beats the floor of a prefill, {floor}: suspect prompts that were found in a cache, "
    "fewer bits than were counted, another model or another machine",
    "retold.over.below_zero": "a figure below 0 was not measured: suspect a clock that was set back, or counters that began anew",
    "retold.over.at_once": "output tokens/s x the time of a token makes {batch} sequences at once, and at most "
    "{most} were sent: these figures are not of one run, or prompt tokens were counted as output",
    # notes
    "retold.noted.whole": "the embedding table is counted, of which a token reads one row, and no KV cache: --model "
    "knows both",
    "retold.noted.thumb": "2 x parameters counts the embedding table as a product, and no attention: --model counts "
    "by rows",
    "retold.noted.another": "the file's model has {own} parameters, {model} has {params}: is it another?",
    "retold.noted.host": "no layer was on the device (-ngl 0): its roofs are not those that were run under",
    "retold.noted.copied": "if the tool counts a byte that is copied once, memory moved twice as much",
    "retold.noted.sometimes": "a sequence decodes {share} of the time only: a step is taken to have one",
    "retold.noted.little": "{batch} sequences decode at once: output tokens/s x {metric} (Little's law)",
    "retold.noted.accepted": "a step yields {tokens} tokens a sequence (accept length), so steps are that much "
    "longer than TPOT",
    "retold.noted.itl": "ITL stands for the time of a step: a piece of the stream with several tokens makes it too "
    "long",
    "retold.noted.request": "prompt tokens found in a cache cost no FLOPs, and are counted here; 2 x parameters x "
    "tokens/s would be {rate} a device, embedding look-ups counted as products",
    "retold.noted.small": "its arrays of {bytes} are not several times the last cache ({cache}), which may have "
    "served a part",
    "retold.noted.peak": "the file takes {theirs} as the peak, and {roof} is {ours}",
    "retold.noted.llama": "llama.cpp may multiply in 8 bit or accumulate in 16, of which it would be: {others}",
    "retold.noted.triad": "the triad rate of {machine} is not known: it is set against copy",
    "retold.noted.one_size": "one size alone: whether larger ones would be faster, the file does not say",
    "retold.noted.names": "the file names {chip}: its roofs apply",
    "retold.noted.no_model": "no figure of it is of a model, so --model changes nothing",
    "retold.noted.neither": "neither the speed of prefill nor that of decode",
    "retold.noted.no_speed": "the tool gives no speed",
    "retold.noted.no_number": "the file says no number",
    "retold.noted.largest": "the largest size, {bytes}",
    "retold.noted.stated": "the file states {stated}; its counts over its duration are {counted}",
    "retold.noted.unmeasured": "not measured: {reason}",
    "retold.noted.no_cell": "no cell holds a number",
}

ES: dict[str, str] = {
    "retold.over.decode": "{share} de {roof} de {machine}: sospeche de menos bits o menos expertos activos que los "
    "contados, borradores, tokens de prompt contados como generados, más dispositivos que los nombrados u otra "
    "máquina",
    "retold.over.measured": "el techo {roof} se midió como {value} y es demasiado bajo: mídalo de nuevo",
    "retold.over.cache": "{share} de {roof} de {machine}: es una caché, pues la última ({cache}) guarda sus arrays "
    "de {bytes}; hágalos mayores",
    "retold.over.arrays": "{share} de {roof} de {machine}: sospeche de arrays que quedaron en una caché, bytes "
    "contados dos veces u otra máquina",
    "retold.over.switch": "{share} de {roof} de {machine}: lo explica la reducción dentro del switch (NVLS, SHARP), "
    "que envía menos de lo que cuenta la cifra del bus; su ancho de banda de algoritmo es {inner} del enlace",
    "retold.over.directions": "{share} de {roof} de {machine}: sospeche de ambas direcciones contadas como una, un "
    "enlace más rápido que el nombrado u otra máquina",
    "retold.over.link": "{share} de {roof} de {machine}: sospeche de un enlace más rápido que el nombrado u otra "
    "máquina",
    "retold.over.others": "{share} de {roof} de {machine}, de otros techos {others}: sospeche que corrió en uno de "
    "estos, un recuento de FLOP erróneo u otra máquina",
    "retold.over.compute": "{share} de {roof} de {machine}: sospeche de un recuento de FLOP erróneo, más "
    "dispositivos que los nombrados u otra máquina",
    "retold.over.ttft": "{value} bate el mínimo de un prefill, {floor}: sospeche de prompts hallados en una caché, "
    "menos bits que los contados, otro modelo u otra máquina",
    "retold.over.below_zero": "una cifra por debajo de 0 no se midió: sospecha de un reloj atrasado, o de contadores que empezaron de nuevo",
    "retold.over.at_once": "tokens de salida/s x el tiempo de un token dan {batch} secuencias a la vez, y se "
    "enviaron como mucho {most}: estas cifras no son de una misma ejecución, o se contaron tokens de prompt como "
    "salida",
    "retold.noted.whole": "se cuenta la tabla de embeddings, de la que un token lee una fila, y ninguna caché KV: "
    "--model conoce ambas",
    "retold.noted.thumb": "2 x parámetros cuenta la tabla de embeddings como un producto, y ninguna atención: "
    "--model cuenta por filas",
    "retold.noted.another": "el modelo del archivo tiene {own} parámetros, {model} tiene {params}: ¿es otro?",
    "retold.noted.host": "ninguna capa estaba en el dispositivo (-ngl 0): sus techos no son los que valían",
    "retold.noted.copied": "si la herramienta cuenta una vez un byte copiado, la memoria movió el doble",
    "retold.noted.sometimes": "solo {share} del tiempo decodifica una secuencia: se toma que un paso tiene una",
    "retold.noted.little": "{batch} secuencias decodifican a la vez: tokens de salida/s x {metric} (ley de Little)",
    "retold.noted.accepted": "un paso da {tokens} tokens por secuencia (accept length), así que los pasos son tanto "
    "más largos que TPOT",
    "retold.noted.itl": "ITL vale por el tiempo de un paso: un trozo del flujo con varios tokens lo hace demasiado "
    "largo",
    "retold.noted.request": "los tokens de prompt hallados en una caché no cuestan FLOP, y aquí se cuentan; 2 x "
    "parámetros x tokens/s serían {rate} por dispositivo, con las lecturas de embeddings contadas como productos",
    "retold.noted.small": "sus arrays de {bytes} no son varias veces la última caché ({cache}), que pudo servir una "
    "parte",
    "retold.noted.peak": "el archivo toma {theirs} como pico, y {roof} es {ours}",
    "retold.noted.llama": "llama.cpp puede multiplicar en 8 bits o acumular en 16, de lo que sería: {others}",
    "retold.noted.triad": "no se conoce la tasa de triad de {machine}: se pone frente a copy",
    "retold.noted.one_size": "un solo tamaño: si otros mayores serían más rápidos, el archivo no lo dice",
    "retold.noted.names": "el archivo nombra {chip}: valen sus techos",
    "retold.noted.no_model": "ninguna cifra suya es de un modelo, así que --model no cambia nada",
    "retold.noted.neither": "ni la velocidad del prefill ni la del decode",
    "retold.noted.no_speed": "la herramienta no da velocidad",
    "retold.noted.no_number": "el archivo no dice ningún número",
    "retold.noted.largest": "el mayor tamaño, {bytes}",
    "retold.noted.stated": "el archivo declara {stated}; sus recuentos entre su duración son {counted}",
    "retold.noted.unmeasured": "no medido: {reason}",
    "retold.noted.no_cell": "ninguna celda tiene un número",
}

VI: dict[str, str] = {
    "retold.over.decode": "{share} của {roof} của {machine}: hãy ngờ ít bit hoặc ít expert hoạt động hơn đã đếm, "
    "token nháp, token prompt bị tính là sinh ra, nhiều thiết bị hơn đã nêu, hoặc máy khác",
    "retold.over.measured": "trần {roof} đo được là {value} và quá thấp: hãy đo lại",
    "retold.over.cache": "{share} của {roof} của {machine}: đó là cache, vì cache cuối ({cache}) giữ các mảng "
    "{bytes} của nó; hãy làm chúng lớn hơn",
    "retold.over.arrays": "{share} của {roof} của {machine}: hãy ngờ mảng nằm lại trong cache, byte bị đếm hai lần, "
    "hoặc máy khác",
    "retold.over.switch": "{share} của {roof} của {machine}: phép rút gọn trong switch (NVLS, SHARP) giải thích điều "
    "này, vì gửi ít hơn số bus đếm; băng thông thuật toán của nó là {inner} của liên kết",
    "retold.over.directions": "{share} của {roof} của {machine}: hãy ngờ hai chiều bị tính là một, liên kết nhanh "
    "hơn đã nêu, hoặc máy khác",
    "retold.over.link": "{share} của {roof} của {machine}: hãy ngờ liên kết nhanh hơn đã nêu, hoặc máy khác",
    "retold.over.others": "{share} của {roof} của {machine}, của các trần khác {others}: hãy ngờ nó chạy ở một trong "
    "số này, đếm sai FLOP, hoặc máy khác",
    "retold.over.compute": "{share} của {roof} của {machine}: hãy ngờ đếm sai FLOP, nhiều thiết bị hơn đã nêu, hoặc "
    "máy khác",
    "retold.over.ttft": "{value} vượt sàn của một prefill, {floor}: hãy ngờ prompt có sẵn trong cache, ít bit hơn đã "
    "đếm, mô hình khác hoặc máy khác",
    "retold.over.below_zero": "số dưới 0 không phải là số đo được: nghi đồng hồ bị vặn lùi, hoặc bộ đếm bắt đầu lại",
    "retold.over.at_once": "token đầu ra/s x thời gian một token cho {batch} chuỗi cùng lúc, mà chỉ gửi nhiều nhất "
    "{most}: các số này không cùng một lần chạy, hoặc token prompt bị tính là đầu ra",
    "retold.noted.whole": "bảng embedding được tính dù một token chỉ đọc một hàng, còn cache KV thì không: --model "
    "biết cả hai",
    "retold.noted.thumb": "2 x số tham số tính bảng embedding như một phép nhân và không tính attention: --model đếm "
    "theo hàng",
    "retold.noted.another": "mô hình trong tệp có {own} tham số, {model} có {params}: có phải mô hình khác không?",
    "retold.noted.host": "không lớp nào nằm trên thiết bị (-ngl 0): các trần của nó không phải trần đã chạy dưới",
    "retold.noted.copied": "nếu công cụ đếm một byte sao chép một lần thì bộ nhớ đã chuyển gấp đôi",
    "retold.noted.sometimes": "chỉ {share} thời gian có chuỗi giải mã: coi như một bước có một chuỗi",
    "retold.noted.little": "{batch} chuỗi giải mã cùng lúc: token đầu ra/s x {metric} (định luật Little)",
    "retold.noted.accepted": "một bước cho {tokens} token mỗi chuỗi (accept length), nên bước dài hơn TPOT chừng ấy "
    "lần",
    "retold.noted.itl": "ITL thay cho thời gian một bước: mẩu luồng có nhiều token làm nó quá dài",
    "retold.noted.request": "token prompt có sẵn trong cache không tốn FLOP nhưng vẫn được tính ở đây; 2 x tham số x "
    "token/s sẽ là {rate} mỗi thiết bị, tính tra embedding như phép nhân",
    "retold.noted.small": "các mảng {bytes} của nó không lớn gấp nhiều lần cache cuối ({cache}), nên cache có thể đã "
    "phục vụ một phần",
    "retold.noted.peak": "tệp lấy {theirs} làm đỉnh, còn {roof} là {ours}",
    "retold.noted.llama": "llama.cpp có thể nhân ở 8 bit hoặc cộng dồn ở 16 bit, khi đó sẽ là: {others}",
    "retold.noted.triad": "không rõ tốc độ triad của {machine}: đặt cạnh copy",
    "retold.noted.one_size": "chỉ một kích thước: tệp không nói kích thước lớn hơn có nhanh hơn không",
    "retold.noted.names": "tệp nêu {chip}: dùng các trần của nó",
    "retold.noted.no_model": "không số đo nào trong đó là của mô hình, nên --model không đổi gì",
    "retold.noted.neither": "không phải tốc độ prefill cũng không phải tốc độ decode",
    "retold.noted.no_speed": "công cụ không cho tốc độ",
    "retold.noted.no_number": "tệp không nêu con số nào",
    "retold.noted.largest": "kích thước lớn nhất, {bytes}",
    "retold.noted.stated": "tệp ghi {stated}; các số đếm của nó chia cho thời gian là {counted}",
    "retold.noted.unmeasured": "không đo: {reason}",
    "retold.noted.no_cell": "không ô nào có số",
}
