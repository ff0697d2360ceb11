"""The sentences of interpretation.md, in every language. Field terms stay as practitioners say them."""

from __future__ import annotations

EN: dict[str, str] = {
    "lab.title": "Where LLM operators land on {machine}",
    "lab.products": "1. Matrix products under the compute roof",
    "lab.attention": "2. Decode attention",
    "lab.comparison": "3. Compared with a second machine",
    "lab.unanswered": "This run could not answer: the measurement it needs is missing or was not trusted.",
    "lab.contended": "Other work disturbed this run: {why}. Measure again on an idle machine before quoting it.",
    "lab.incomplete": "This run ended before everything was measured.",
    "lab.products.text": "The {dtype} product of {shape} runs at {rate} (from {rate_key}), {share} of the best measured "
    "{dtype} roof of {roof} ({roof_key}). Its intensity is {intensity} FLOP/B, far to the right of the ridge point at "
    "{ridge} FLOP/B ({ridge_key}), so arithmetic binds and not memory: every value loaded is used many times.",
    "lab.products.peak": "In a burst ({burst_key}) it gives {share} of the {peak} that clock and instruction set allow "
    "({share_key}, origin: {origin}).",
    "lab.attention.text": "At S = {S} one token's {dtype} attention{which} needs {flops} ({flops_key}) and moves {bytes} "
    "({bytes_key}), {intensity} FLOP/B ({intensity_key}). It takes {time} ({time_key}): {rate} ({rate_key}), which is "
    "{share} of the {dtype} roof ({share_key}).",
    "lab.attention.memory": "Memory binds: {bandwidth} ({bandwidth_key}), {reached} of what the best "
    "sample of the read bandwidth, {slope} ({slope_key}), allows ({reached_key}). More arithmetic would not help; fewer bytes would.",
    "lab.attention.below-roof": "It lies below the slope: {reached} of what the best sample of the read bandwidth, "
    "{slope} ({slope_key}), allows ({reached_key}), so the code is the first suspect and not the machine.",
    "lab.attention.launch": "It is launch-bound: the same calls over a single cached token already cost {overhead} "
    "({overhead_key}), more than half of it, so neither arithmetic nor bandwidth sets the time.",
    "lab.attention.compute": "It is compute-bound here: this machine's arithmetic is slower than its memory at this "
    "intensity, {reached} of what is attainable ({reached_key}).",
    "lab.attention.link": "It is link-bound.",
    "lab.attention.short": "At S = {S} a step{which} takes {time} ({time_key}), {share} of the {dtype} roof ({share_key}).",
    "lab.comparison.attainable": "On {other} the same operator (S = {S}, {dtype}) could reach at most {theirs}: attainable "
    "from its {origin} bandwidth, not achieved by anyone here. Set against the {rate} achieved on this machine "
    "({rate_key}) that is {ratio} times; the bandwidths ({their_bandwidth} against {my_bandwidth_key}) stand "
    "{bandwidths} to 1.",
    "lab.comparison.achieved": "On {other} the same operator (S = {S}, {dtype}) achieved {theirs}, {ratio} times the {rate} "
    "of this machine ({rate_key}), achieved against achieved; the measured bandwidths ({their_bandwidth} against "
    "{my_bandwidth_key}) stand {bandwidths} to 1.",
    "lab.comparison.same": "The two ratios agree within a quarter (factor {gap}), as they must when memory binds on both: "
    "peak FLOP/s does not enter.",
    "lab.comparison.off": "The two ratios differ by a factor of {gap}: the difference is what one of them loses to "
    "overhead or code, since memory binds on both.",
    "lab.comparison.overhead": "That one is {who}: of its {time} the bytes need {floor} at its own measured bandwidth, and "
    "{over} is overhead.",
    "lab.comparison.started": "The same calls over a single cached token take {time}.",
    "lab.comparison.no_cells": "This run has no trusted decode attention to compare: measure again on an idle machine.",
    "lab.comparison.no_slope": "{other} has no known main-memory bandwidth, so nothing can be set against it.",
    "lab.comparison.no_dtype": "{other} has no known {dtypes} rate, the only arithmetic that decode attention was measured "
    "in here; give it as an override or compare with another machine.",
    "lab.comparison.no_pair": "{other} has no trusted decode attention of the same shape, dtype and context as one here "
    "({cells}); measure both in the same way.",
}

ES: dict[str, str] = {
    "lab.title": "Dónde caen los operadores de un LLM en {machine}",
    "lab.products": "1. Productos de matrices bajo el techo de cómputo",
    "lab.attention": "2. Atención en decode",
    "lab.comparison": "3. Comparación con una segunda máquina",
    "lab.unanswered": "Esta ejecución no pudo responder: la medición necesaria falta o no era fiable.",
    "lab.contended": "Otro trabajo perturbó esta ejecución: {why}. Mide de nuevo con la máquina libre antes de citarla.",
    "lab.incomplete": "Esta ejecución terminó antes de medirlo todo.",
    "lab.products.text": "El producto {dtype} de {shape} corre a {rate} (de {rate_key}), {share} del mejor techo {dtype} "
    "medido, {roof} ({roof_key}). Su intensidad es {intensity} FLOP/B, muy a la derecha del ridge point en {ridge} FLOP/B "
    "({ridge_key}): limita la aritmética y no la memoria, porque cada valor cargado se usa muchas veces.",
    "lab.products.peak": "En una ráfaga ({burst_key}) da {share} de los {peak} que permiten el reloj y el juego de "
    "instrucciones ({share_key}, origen: {origin}).",
    "lab.attention.text": "Con S = {S}, la atención {dtype} de un token{which} necesita {flops} ({flops_key}) y mueve {bytes} "
    "({bytes_key}), {intensity} FLOP/B ({intensity_key}). Tarda {time} ({time_key}): {rate} ({rate_key}), es decir "
    "{share} del techo {dtype} ({share_key}).",
    "lab.attention.memory": "Limita la memoria: {bandwidth} ({bandwidth_key}), {reached} de lo que permite la mejor "
    "muestra del ancho de banda de lectura, {slope} ({slope_key}) ({reached_key}). Más aritmética no ayudaría; menos bytes, sí.",
    "lab.attention.below-roof": "Está por debajo de la pendiente: {reached} de lo que permite la mejor muestra del ancho de "
    "banda de lectura, {slope} ({slope_key}) ({reached_key}); el primer sospechoso es el código y no la máquina.",
    "lab.attention.launch": "Está limitada por el lanzamiento: las mismas llamadas con un solo token en caché ya cuestan "
    "{overhead} ({overhead_key}), más de la mitad; ni la aritmética ni el ancho de banda fijan el tiempo.",
    "lab.attention.compute": "Aquí limita el cómputo: la aritmética de esta máquina es más lenta que su memoria a esta "
    "intensidad, {reached} de lo alcanzable ({reached_key}).",
    "lab.attention.link": "La limita el enlace.",
    "lab.attention.short": "Con S = {S} un paso{which} tarda {time} ({time_key}), {share} del techo {dtype} ({share_key}).",
    "lab.comparison.attainable": "En {other} el mismo operador (S = {S}, {dtype}) podría llegar como mucho a {theirs}: "
    "alcanzable según su ancho de banda ({origin}), no logrado por nadie aquí. Frente a los {rate} logrados en esta máquina "
    "({rate_key}) son {ratio} veces; los anchos de banda ({their_bandwidth} frente a {my_bandwidth_key}) están "
    "{bandwidths} a 1.",
    "lab.comparison.achieved": "En {other} el mismo operador (S = {S}, {dtype}) logró {theirs}, {ratio} veces los {rate} de "
    "esta máquina ({rate_key}), logrado frente a logrado; los anchos de banda medidos ({their_bandwidth} frente a "
    "{my_bandwidth_key}) están {bandwidths} a 1.",
    "lab.comparison.same": "Las dos razones coinciden dentro de una cuarta parte (factor {gap}), como debe ser cuando la "
    "memoria limita en ambas: los FLOP/s de pico no intervienen.",
    "lab.comparison.off": "Las dos razones difieren en un factor {gap}: es lo que una de las dos pierde por sobrecarga o "
    "código, pues la memoria limita en ambas.",
    "lab.comparison.overhead": "Esa es {who}: de sus {time}, los bytes necesitan {floor} con su propio ancho de banda medido, "
    "y {over} son sobrecarga.",
    "lab.comparison.started": "Las mismas llamadas con un solo token en caché tardan {time}.",
    "lab.comparison.no_cells": "Esta ejecución no tiene atención en decode fiable que comparar: mide de nuevo con la "
    "máquina libre.",
    "lab.comparison.no_slope": "{other} no tiene un ancho de banda de memoria principal conocido: no hay con qué comparar.",
    "lab.comparison.no_dtype": "{other} no tiene un rendimiento {dtypes} conocido, la única aritmética en que se midió aquí "
    "la atención en decode; dalo tras una coma o compara con otra máquina.",
    "lab.comparison.no_pair": "{other} no tiene atención en decode fiable con la misma forma, dtype y contexto que alguna de "
    "aquí ({cells}); mide ambas de la misma manera.",
}

VI: dict[str, str] = {
    "lab.title": "Các toán tử LLM nằm ở đâu trên {machine}",
    "lab.products": "1. Phép nhân ma trận dưới trần tính toán",
    "lab.attention": "2. Attention khi decode",
    "lab.comparison": "3. So với một máy thứ hai",
    "lab.unanswered": "Lần chạy này không trả lời được: phép đo cần thiết bị thiếu hoặc không đáng tin.",
    "lab.contended": "Có việc khác làm nhiễu lần chạy này: {why}. Hãy đo lại khi máy rảnh trước khi trích dẫn.",
    "lab.incomplete": "Lần chạy này kết thúc trước khi đo xong mọi thứ.",
    "lab.products.text": "Phép nhân {dtype} cỡ {shape} chạy ở {rate} (từ {rate_key}), bằng {share} của trần {dtype} tốt nhất "
    "đo được là {roof} ({roof_key}). Cường độ của nó là {intensity} FLOP/B, ở xa bên phải ridge point {ridge} FLOP/B "
    "({ridge_key}), nên giới hạn là số học chứ không phải bộ nhớ: mỗi giá trị nạp vào được dùng nhiều lần.",
    "lab.products.peak": "Khi chạy một loạt ngắn ({burst_key}), nó đạt {share} của {peak} mà xung nhịp và tập lệnh cho phép "
    "({share_key}, nguồn gốc: {origin}).",
    "lab.attention.text": "Với S = {S}, attention {dtype} của một token{which} cần {flops} ({flops_key}) và chuyển {bytes} "
    "({bytes_key}), {intensity} FLOP/B ({intensity_key}). Nó mất {time} ({time_key}): {rate} ({rate_key}), tức {share} của "
    "trần {dtype} ({share_key}).",
    "lab.attention.memory": "Bộ nhớ là giới hạn: {bandwidth} ({bandwidth_key}), {reached} của mức mà mẫu tốt nhất của băng thông "
    "đọc, {slope} ({slope_key}), cho phép ({reached_key}). Thêm phép tính không giúp được; bớt byte thì có.",
    "lab.attention.below-roof": "Nó nằm dưới đường dốc: {reached} của mức mà mẫu tốt nhất của băng thông đọc, {slope} "
    "({slope_key}), cho phép ({reached_key}); "
    "nghi phạm đầu tiên là mã chứ không phải máy.",
    "lab.attention.launch": "Nó bị giới hạn bởi việc khởi chạy kernel: cùng những lời gọi ấy với một token trong cache đã tốn {overhead} "
    "({overhead_key}), hơn một nửa; cả số học lẫn băng thông đều không quyết định thời gian.",
    "lab.attention.compute": "Ở đây giới hạn là tính toán: ở cường độ này số học của máy chậm hơn bộ nhớ, {reached} của mức "
    "đạt được ({reached_key}).",
    "lab.attention.link": "Nó bị giới hạn bởi liên kết.",
    "lab.attention.short": "Với S = {S}, một bước{which} mất {time} ({time_key}), {share} của "
    "trần {dtype} ({share_key}).",
    "lab.comparison.attainable": "Trên {other}, cùng toán tử (S = {S}, {dtype}) có thể đạt nhiều nhất {theirs}: mức có thể đạt "
    "theo băng thông ({origin}) của nó, chưa ai đạt ở đây. So với {rate} đạt được trên máy này ({rate_key}) là {ratio} lần; "
    "băng thông ({their_bandwidth} so với {my_bandwidth_key}) có tỉ lệ {bandwidths} trên 1.",
    "lab.comparison.achieved": "Trên {other}, cùng toán tử (S = {S}, {dtype}) đạt {theirs}, gấp {ratio} lần {rate} của máy này "
    "({rate_key}), đạt được so với đạt được; băng thông đo được ({their_bandwidth} so với {my_bandwidth_key}) có tỉ lệ "
    "{bandwidths} trên 1.",
    "lab.comparison.same": "Hai tỉ lệ khớp nhau trong vòng một phần tư (hệ số {gap}), đúng như phải thế khi bộ nhớ là giới hạn "
    "trên cả hai: FLOP/s đỉnh không có vai trò gì.",
    "lab.comparison.off": "Hai tỉ lệ lệch nhau hệ số {gap}: đó là phần mà một trong hai mất vào overhead hoặc mã, vì bộ nhớ là "
    "giới hạn trên cả hai.",
    "lab.comparison.overhead": "Đó là {who}: trong {time} của nó, các byte cần {floor} ở băng thông đo được của chính nó, và "
    "{over} là overhead.",
    "lab.comparison.started": "Cùng những lời gọi ấy với một token trong cache mất {time}.",
    "lab.comparison.no_cells": "Lần chạy này không có attention khi decode đáng tin để so: hãy đo lại khi máy rảnh.",
    "lab.comparison.no_slope": "{other} không có băng thông bộ nhớ chính đã biết nên không có gì để so.",
    "lab.comparison.no_dtype": "{other} không có tốc độ {dtypes} đã biết, kiểu số học duy nhất mà attention khi decode được đo "
    "ở đây; hãy cho nó sau dấu phẩy hoặc so với máy khác.",
    "lab.comparison.no_pair": "{other} không có attention khi decode đáng tin với cùng kích cỡ, dtype và ngữ cảnh như ở đây "
    "({cells}); hãy đo cả hai theo cùng một cách.",
}  # fmt: skip
