"""Sentences about benchmarks that reach the screen as data: definitions, how a demand is counted, what is missing."""

from __future__ import annotations

EN: dict[str, str] = {
    # what the tools mean by their figures
    "retold.means.decode": "generated tokens over the time of generating them, one sequence; the weights are read "
    "for each token",
    "retold.means.prefill": "prompt tokens over the time of processing the prompt; no token is generated",
    "retold.means.mixed": "prompt and generated tokens together over the time of both",
    "retold.means.output": "output tokens of all requests over the whole duration, prefills and waiting included",
    "retold.means.total": "prompt and output tokens over the whole duration: FLOPs follow from it, the speed of "
    "generation does not",
    "retold.means.input": "prompt tokens over the whole duration; those found in a cache cost no FLOPs",
    "retold.means.requests": "finished requests over the whole duration",
    "retold.means.ttft": "time to first token: from sending the request to its first output token, waiting in the "
    "queue included",
    "retold.means.tpot": "time per output token: (latency - time to first token) / (output tokens - 1) of each request",
    "retold.means.itl": "inter-token latency: between two pieces of the stream; a piece may hold several tokens "
    "(speculation), and waits for other requests' prefills are in it",
    "retold.means.e2e": "end-to-end latency of a request",
    "retold.means.batch": "time of one batch that runs alone: batch_size sequences of input_len and output_len tokens",
    "retold.means.batch_prefill": "prompt tokens over the time of the prefill of one batch that runs alone: "
    "batch_size sequences of input_len and output_len tokens",
    "retold.means.batch_decode": "tokens over the median time of a step of one batch that runs alone: batch_size "
    "sequences of input_len and output_len tokens",
    "retold.means.batch_last": "tokens over the time of the last step of one batch that runs alone: batch_size "
    "sequences of input_len and output_len tokens",
    "retold.means.batch_first": "prompt tokens over the time to the first token of one batch that runs alone: "
    "batch_size sequences of input_len and output_len tokens",
    "retold.means.batch_after": "tokens over the time after the first token of one batch that runs alone: batch_size "
    "sequences of input_len and output_len tokens",
    "retold.means.bus": "bus bandwidth: bytes over the busiest link in one direction, from the time of the whole "
    "collective",
    "retold.means.product": "2 M N K over the time of one product of the best shape that was tried; other shapes "
    "read lower",
    "retold.means.roof": "mean of the repetitions of a micro-benchmark on one device",
    "retold.means.arrays": "arrays read and written, each once, over the best time of the repetitions",
    "retold.means.copy": "bandwidth of one copy",
    "retold.means.latency": "latency",
    # how a demand follows from a figure
    "retold.counted.weights": "bytes of the file's weights, all of them, x tokens/s",
    "retold.counted.rows": "weights and KV cache by the rows of {model} x tokens/s",
    "retold.counted.share": "{share} of the file's weights, which a token reads by the rows of {model}, and KV cache "
    "x tokens/s",
    "retold.counted.params": "2 x parameters of the file x tokens/s",
    "retold.counted.prompt": "FLOPs of a prompt by the rows of {model} x tokens/s",
    "retold.counted.request": "FLOPs of {prompt} prompt and {output} output tokens by the rows of {model} x requests/s",
    "retold.counted.step": "weights and KV cache of a step by the rows of {model}, batch {batch} at context "
    "{context}, x {steps} steps/s",
    "retold.counted.bus": "the bus figure, which is of one direction",
    "retold.counted.one": "the figure itself, of one direction",
    "retold.counted.both": "the figure itself, which adds both directions, of twice the link's rate",
    "retold.counted.beside": "the figure itself, of one direction while copies run the other way, which are not in it",
    "retold.counted.product": "2 M N K over the time of one product",
    "retold.counted.tool": "the tool's own figure",
    "retold.counted.figure": "the figure itself",
    "retold.counted.arrays": "arrays read and written, each once",
    # what is missing
    "retold.missing.machine": "no machine is named: --on MACHINE sets it against its ceiling",
    "retold.missing.model": "the model is not known: name it with --model",
    "retold.missing.experts": "a token visits some of the experts only: name the model with --model",
    "retold.missing.size": "the file does not say how large the model is: name it with --model, its format with "
    "--weights",
    "retold.missing.params": "the file does not say how many parameters the model has: name it with --model",
    "retold.missing.step": "how many sequences decode at once needs TPOT (or ITL), and the rates of requests, output "
    "and all tokens",
    "retold.missing.rates": "FLOPs need the rates of requests, output and all tokens",
    "retold.missing.sizes": "the file does not say batch_size and input_len",
    "retold.missing.format": "the file does not say in which format it multiplied: name it with --math",
    "retold.missing.strange": "{format} is no format known here: name it with --math",
    "retold.missing.stranger": "it is of another chip, the roofs are those of {machine}",
    "retold.missing.path": "{machine} has no {path} path: its rate is 0",
}

ES: dict[str, str] = {
    "retold.means.decode": "tokens generados entre el tiempo de generarlos, una secuencia; los pesos se leen para "
    "cada token",
    "retold.means.prefill": "tokens del prompt entre el tiempo de procesarlo; no se genera ningún token",
    "retold.means.mixed": "tokens del prompt y generados juntos entre el tiempo de ambos",
    "retold.means.output": "tokens de salida de todas las peticiones entre toda la duración, prefills y esperas "
    "incluidos",
    "retold.means.total": "tokens de prompt y salida entre toda la duración: de ahí salen los FLOP, no la velocidad "
    "de generación",
    "retold.means.input": "tokens de prompt entre toda la duración; los hallados en una caché no cuestan FLOP",
    "retold.means.requests": "peticiones terminadas entre toda la duración",
    "retold.means.ttft": "tiempo hasta el primer token: desde enviar la petición hasta su primer token de salida, la "
    "espera en cola incluida",
    "retold.means.tpot": "tiempo por token de salida: (latencia - tiempo hasta el primer token) / (tokens de salida "
    "- 1) de cada petición",
    "retold.means.itl": "latencia entre tokens: entre dos trozos del flujo; un trozo puede llevar varios tokens "
    "(especulación), y contiene las esperas por prefills ajenos",
    "retold.means.e2e": "latencia de extremo a extremo de una petición",
    "retold.means.batch": "tiempo de un batch que corre solo: batch_size secuencias de input_len y output_len tokens",
    "retold.means.batch_prefill": "tokens de prompt entre el tiempo del prefill de un batch que corre solo: "
    "batch_size secuencias de input_len y output_len tokens",
    "retold.means.batch_decode": "tokens entre el tiempo mediano de un paso de un batch que corre solo: batch_size "
    "secuencias de input_len y output_len tokens",
    "retold.means.batch_last": "tokens entre el tiempo del último paso de un batch que corre solo: batch_size "
    "secuencias de input_len y output_len tokens",
    "retold.means.batch_first": "tokens de prompt entre el tiempo hasta el primer token de un batch que corre solo: "
    "batch_size secuencias de input_len y output_len tokens",
    "retold.means.batch_after": "tokens entre el tiempo tras el primer token de un batch que corre solo: batch_size "
    "secuencias de input_len y output_len tokens",
    "retold.means.bus": "ancho de banda del bus: bytes por el enlace más cargado en una dirección, según el tiempo "
    "de toda la operación colectiva",
    "retold.means.product": "2 M N K entre el tiempo de un producto de la mejor forma probada; otras formas dan menos",
    "retold.means.roof": "media de las repeticiones de un microbenchmark en un dispositivo",
    "retold.means.arrays": "arrays leídos y escritos, cada uno una vez, entre el mejor tiempo de las repeticiones",
    "retold.means.copy": "ancho de banda de una copia",
    "retold.means.latency": "latencia",
    "retold.counted.weights": "bytes de los pesos del archivo, todos, x tokens/s",
    "retold.counted.rows": "pesos y caché KV según las filas de {model} x tokens/s",
    "retold.counted.share": "{share} de los pesos del archivo, lo que un token lee según las filas de {model}, y "
    "caché KV x tokens/s",
    "retold.counted.params": "2 x parámetros del archivo x tokens/s",
    "retold.counted.prompt": "FLOP de un prompt según las filas de {model} x tokens/s",
    "retold.counted.request": "FLOP de {prompt} tokens de prompt y {output} de salida según las filas de {model} x "
    "peticiones/s",
    "retold.counted.step": "pesos y caché KV de un paso según las filas de {model}, batch {batch} con contexto "
    "{context}, x {steps} pasos/s",
    "retold.counted.bus": "la cifra del bus, que es de una dirección",
    "retold.counted.one": "la propia cifra, de una dirección",
    "retold.counted.both": "la propia cifra, que suma ambas direcciones, del doble de la tasa del enlace",
    "retold.counted.beside": "la propia cifra, de una dirección mientras otras copias van en sentido contrario, que "
    "no cuentan en ella",
    "retold.counted.product": "2 M N K entre el tiempo de un producto",
    "retold.counted.tool": "la cifra de la propia herramienta",
    "retold.counted.figure": "la propia cifra",
    "retold.counted.arrays": "arrays leídos y escritos, cada uno una vez",
    "retold.missing.machine": "no se nombra ninguna máquina: --on MACHINE la pone frente a su techo",
    "retold.missing.model": "no se conoce el modelo: nómbrelo con --model",
    "retold.missing.experts": "un token visita solo algunos expertos: nombre el modelo con --model",
    "retold.missing.size": "el archivo no dice el tamaño del modelo: nómbrelo con --model, y su formato con --weights",
    "retold.missing.params": "el archivo no dice cuántos parámetros tiene el modelo: nómbrelo con --model",
    "retold.missing.step": "cuántas secuencias decodifican a la vez requiere TPOT (o ITL) y las tasas de peticiones, "
    "de salida y de todos los tokens",
    "retold.missing.rates": "los FLOP requieren las tasas de peticiones, de salida y de todos los tokens",
    "retold.missing.sizes": "el archivo no dice batch_size ni input_len",
    "retold.missing.format": "el archivo no dice en qué formato multiplicó: nómbrelo con --math",
    "retold.missing.strange": "{format} no es un formato conocido aquí: nómbrelo con --math",
    "retold.missing.stranger": "es de otro chip, los techos son de {machine}",
    "retold.missing.path": "{machine} no tiene la ruta {path}: su tasa es 0",
}

VI: dict[str, str] = {
    "retold.means.decode": "số token sinh ra chia cho thời gian sinh, một chuỗi; trọng số được đọc cho mỗi token",
    "retold.means.prefill": "số token của prompt chia cho thời gian xử lý prompt; không sinh token nào",
    "retold.means.mixed": "token của prompt và token sinh ra cộng lại chia cho thời gian của cả hai",
    "retold.means.output": "token đầu ra của mọi yêu cầu chia cho toàn bộ thời gian, gồm cả prefill và chờ đợi",
    "retold.means.total": "token của prompt và đầu ra chia cho toàn bộ thời gian: suy ra được FLOP, không suy ra tốc "
    "độ sinh",
    "retold.means.input": "token của prompt chia cho toàn bộ thời gian; token có sẵn trong cache không tốn FLOP",
    "retold.means.requests": "số yêu cầu hoàn tất chia cho toàn bộ thời gian",
    "retold.means.ttft": "thời gian đến token đầu tiên: từ lúc gửi yêu cầu đến token đầu ra đầu tiên, gồm cả chờ "
    "trong hàng đợi",
    "retold.means.tpot": "thời gian mỗi token đầu ra: (độ trễ - thời gian đến token đầu tiên) / (số token đầu ra - "
    "1) của mỗi yêu cầu",
    "retold.means.itl": "độ trễ giữa các token: giữa hai mẩu của luồng; một mẩu có thể chứa nhiều token (suy đoán), "
    "và gồm cả chờ prefill của yêu cầu khác",
    "retold.means.e2e": "độ trễ từ đầu đến cuối của một yêu cầu",
    "retold.means.batch": "thời gian của một batch chạy một mình: batch_size chuỗi gồm input_len và output_len token",
    "retold.means.batch_prefill": "token của prompt chia cho thời gian prefill của một batch chạy một mình: "
    "batch_size chuỗi gồm input_len và output_len token",
    "retold.means.batch_decode": "token chia cho thời gian trung vị của một bước của một batch chạy một mình: "
    "batch_size chuỗi gồm input_len và output_len token",
    "retold.means.batch_last": "token chia cho thời gian của bước cuối của một batch chạy một mình: batch_size chuỗi "
    "gồm input_len và output_len token",
    "retold.means.batch_first": "token của prompt chia cho thời gian đến token đầu tiên của một batch chạy một mình: "
    "batch_size chuỗi gồm input_len và output_len token",
    "retold.means.batch_after": "token chia cho thời gian sau token đầu tiên của một batch chạy một mình: batch_size "
    "chuỗi gồm input_len và output_len token",
    "retold.means.bus": "băng thông bus: số byte qua liên kết bận nhất theo một chiều, tính từ thời gian của cả phép "
    "tập thể",
    "retold.means.product": "2 M N K chia cho thời gian một phép nhân ở kích thước tốt nhất đã thử; các kích thước "
    "khác cho số thấp hơn",
    "retold.means.roof": "trung bình các lần lặp của một micro-benchmark trên một thiết bị",
    "retold.means.arrays": "các mảng đọc và ghi, mỗi mảng một lần, chia cho thời gian tốt nhất trong các lần lặp",
    "retold.means.copy": "băng thông của một lần sao chép",
    "retold.means.latency": "độ trễ",
    "retold.counted.weights": "byte của toàn bộ trọng số trong tệp x token/s",
    "retold.counted.rows": "trọng số và cache KV theo các hàng của {model} x token/s",
    "retold.counted.share": "{share} trọng số trong tệp, phần mà một token đọc theo các hàng của {model}, và cache "
    "KV x token/s",
    "retold.counted.params": "2 x số tham số trong tệp x token/s",
    "retold.counted.prompt": "FLOP của một prompt theo các hàng của {model} x token/s",
    "retold.counted.request": "FLOP của {prompt} token prompt và {output} token đầu ra theo các hàng của {model} x "
    "yêu cầu/s",
    "retold.counted.step": "trọng số và cache KV của một bước theo các hàng của {model}, batch {batch} ở ngữ cảnh "
    "{context}, x {steps} bước/s",
    "retold.counted.bus": "số đo bus, vốn của một chiều",
    "retold.counted.one": "chính số đo, của một chiều",
    "retold.counted.both": "chính số đo, cộng cả hai chiều, so với gấp đôi tốc độ liên kết",
    "retold.counted.beside": "chính số đo, của một chiều trong khi có sao chép theo chiều ngược lại không tính vào",
    "retold.counted.product": "2 M N K chia cho thời gian một phép nhân",
    "retold.counted.tool": "số đo của chính công cụ",
    "retold.counted.figure": "chính số đo",
    "retold.counted.arrays": "các mảng đọc và ghi, mỗi mảng một lần",
    "retold.missing.machine": "chưa nêu máy nào: --on MACHINE đặt nó cạnh trần",
    "retold.missing.model": "không rõ mô hình: hãy nêu bằng --model",
    "retold.missing.experts": "một token chỉ qua vài expert: hãy nêu mô hình bằng --model",
    "retold.missing.size": "tệp không nói mô hình lớn bao nhiêu: hãy nêu bằng --model, định dạng bằng --weights",
    "retold.missing.params": "tệp không nói mô hình có bao nhiêu tham số: hãy nêu bằng --model",
    "retold.missing.step": "số chuỗi giải mã cùng lúc cần TPOT (hoặc ITL) và tốc độ yêu cầu, đầu ra và toàn bộ token",
    "retold.missing.rates": "FLOP cần tốc độ yêu cầu, đầu ra và toàn bộ token",
    "retold.missing.sizes": "tệp không nói batch_size và input_len",
    "retold.missing.format": "tệp không nói nhân ở định dạng nào: hãy nêu bằng --math",
    "retold.missing.strange": "{format} không phải định dạng biết ở đây: hãy nêu bằng --math",
    "retold.missing.stranger": "nó là của chip khác, còn các trần là của {machine}",
    "retold.missing.path": "{machine} không có đường {path}: tốc độ là 0",
}
