"""Sentences about a fleet that reach the screen as data: English is what the rules say, found here by name."""

from __future__ import annotations

from rooflens.peers.sentences import CONVENTIONS, NOTES, SEEN


def _keyed(seen: dict[str, str], notes: dict[str, str], conventions: dict[str, str]) -> dict[str, str]:
    parts = (("seen", seen), ("note", notes), ("convention", conventions))
    return {f"retold.fleet.{part}.{name}": text for part, texts in parts for name, text in texts.items()}


EN: dict[str, str] = _keyed(SEEN, NOTES, CONVENTIONS)

ES: dict[str, str] = _keyed(
    {
        "clock": "fue a {clock} donde sus iguales fueron a {all}",
        "warm": "ya caliente fue a {clock} donde sus iguales fueron a {all}: potencia o calor",
        "limit": "su límite de potencia es {limit} y el de sus iguales {all}",
        "settled": "solo las tasas asentadas quedan atrás, las frescas no: potencia o calor, y ninguna herramienta dice cuál",
        "memory": "solo la memoria queda atrás: errores corregidos, filas sustituidas o el reloj de la memoria",
        "pcie": "solo PCIe queda atrás",
        "half": "PCIe va al {share} de sus iguales, como con la mitad de los carriles",
        "quarter": "PCIe va al {share} de sus iguales, como con un cuarto de los carriles",
        "link": "solo los enlaces con otros dispositivos quedan atrás: {count} de sus {all} pares",
        "fresh": "el cálculo queda atrás y la memoria no, como con un reloj bajo, que nadie señala",
        "cache": "solo cachés o lanzamientos quedan atrás, y nadie dice por qué",
        "unknown": "nada de lo preguntado dice por qué",
        "wrong": "un resultado fue erróneo, así que sus tasas no valen nada: {why}",
    },
    {
        "few": "{key}: {count} son muy pocos para saber por sus iguales cuál es lento, {least} bastan",
        "majority": "{id}: {count} de {all} son al menos un {share} más rápidos que la mediana, así que la mayoría puede ser lenta; una referencia guardada lo dice",
        "tail": "{id}: {count} de {all} están muy por debajo de la mediana y menos de un {share}, una larga cola lenta: solo se nombran pérdidas mayores",
        "below": "{id}: la mediana de hoy está un {share} por debajo de la referencia: la mayoría es lenta, o todos han cambiado",
        "above": "{id}: la mediana de hoy está un {share} por encima de la referencia: se hizo con lentos, o todos han cambiado",
        "refused": "{key}: de {id} {count} de {all} cifras no son fiables, y así de {more} techos más",
        "simulated": "simulado: nada de esto se midió",
        "budget": "{node}: el tiempo se acabó antes de medirlo todo",
        "twice": "{node} cuenta una vez: {other} contiene la misma medición, hasta la última cifra",
        "missing": "{count} de {all} nodos no tienen archivo",
        "lacks": "{of}: sin cifra de {id}, que sus iguales tienen",
        "mute": "no se midió nada de {of}; mida este nodo otra vez",
        "doubtful": "ni una sola cifra es fiable, así que nadie queda libre de duda; mida otra vez sin nada más en marcha",
        "no_history": "{key}: no está en la referencia; --save-baseline lo pone ahí",
        "no_price": "{of}: no se sabe lo que cuesta: {why}",
        "usual": "{key}: nadie queda fuera, así que nada cuesta tokens: un grupo de dispositivos usuales da {rate} tokens/s",
        "wider": "un grupo de {count} es más ancho que cualquier nodo aquí ({most}): sus enlaces se toman como los de dentro de un nodo",
        "wiring": "su camino es {kind} y el de la mayoría en este lugar es {usual}",
        "alone": "de los pares de sus dispositivos solo este queda atrás: su cable, su puerto o su lugar en la topología",
    },
    {
        "score": "una puntuación es la velocidad respecto a la mediana de sus iguales, o a su propio pasado: de la cifra que más atrás queda según lo que se distingue del azar",
        "equals": "iguales son los dispositivos de un mismo nombre, controlador y biblioteca, en una carpeta, medidos durante lo mismo",
        "out": "fuera está quien queda atrás por más de lo que explica el azar (un dispositivo de cada {devices} por error), y por un {share}, o por tanto que eso no se puede descartar",
        "spread": "una dispersión es robusta, de los dispositivos en torno a la mediana; la de pocos se acerca a lo habitual",
        "promised": "lo prometido son los enlaces que muestran las herramientas del nodo x la tasa declarada de uno",
    },
)

VI: dict[str, str] = _keyed(
    {
        "clock": "chạy ở {clock} trong khi máy cùng loại chạy ở {all}",
        "warm": "khi đã nóng nó chạy ở {clock} trong khi máy cùng loại chạy ở {all}: công suất hoặc nhiệt",
        "limit": "giới hạn công suất của nó là {limit}, của máy cùng loại là {all}",
        "settled": "chỉ tốc độ khi đã ổn định bị chậm, lúc mới chạy thì không: do công suất hoặc nhiệt, không công cụ nào nói rõ",
        "memory": "chỉ bộ nhớ bị chậm: lỗi đã được sửa, hàng đã thay hoặc xung nhịp bộ nhớ",
        "pcie": "chỉ PCIe bị chậm",
        "half": "PCIe chạy ở {share} so với máy cùng loại, như khi có một nửa số lane",
        "quarter": "PCIe chạy ở {share} so với máy cùng loại, như khi có một phần tư số lane",
        "link": "chỉ đường nối tới thiết bị khác bị chậm: {count} trên {all} cặp của nó",
        "fresh": "tính toán bị chậm còn bộ nhớ thì không, như khi xung nhịp thấp mà không ai báo",
        "cache": "chỉ cache hoặc khởi chạy bị chậm, và không ai nói vì sao",
        "unknown": "không gì trong những thứ đã hỏi nói vì sao",
        "wrong": "một kết quả bị sai, nên tốc độ của nó không có giá trị: {why}",
    },
    {
        "few": "{key}: {count} là quá ít để biết qua máy cùng loại máy nào chậm, {least} là đủ",
        "majority": "{id}: {count} trên {all} nhanh hơn trung vị ít nhất {share}, nên có thể phần lớn đang chậm; một mốc đã lưu sẽ cho biết",
        "tail": "{id}: {count} trên {all} thấp hơn trung vị nhiều nhưng chưa tới {share}, một đuôi chậm dài: chỉ mức hụt lớn hơn mới được nêu",
        "below": "{id}: trung vị hôm nay thấp hơn mốc đã lưu {share}: phần lớn đang chậm, hoặc tất cả đã thay đổi",
        "above": "{id}: trung vị hôm nay cao hơn mốc đã lưu {share}: mốc được lập từ máy chậm, hoặc tất cả đã thay đổi",
        "refused": "{key}: của {id} {count} trên {all} số đo không đáng tin, và {more} trần khác cũng vậy",
        "simulated": "mô phỏng: không có gì ở đây được đo",
        "budget": "{node}: hết thời gian trước khi đo xong mọi thứ",
        "twice": "{node} chỉ tính một lần: {other} chứa cùng một lần đo, đến chữ số cuối",
        "missing": "{count} trên {all} nút không có tệp",
        "lacks": "{of}: không có số đo {id} mà máy cùng loại có",
        "mute": "không đo được gì của {of}; hãy đo lại nút này",
        "doubtful": "không một số đo nào đáng tin, nên không máy nào được coi là ổn; hãy đo lại khi không có gì khác chạy",
        "no_history": "{key}: chưa có trong mốc đã lưu; --save-baseline sẽ thêm vào",
        "no_price": "{of}: chưa rõ cái giá: {why}",
        "usual": "{key}: không máy nào lệch nên không mất token nào: một nhóm thiết bị thông thường cho {rate} tokens/s",
        "wider": "một nhóm {count} rộng hơn mọi nút ở đây ({most}): các đường nối của nó được coi như ở trong một nút",
        "wiring": "đường đi của nó là {kind} còn của đa số ở vị trí này là {usual}",
        "alone": "trong các cặp của hai thiết bị này chỉ cặp này chậm: cáp, cổng hoặc vị trí của nó trong topology",
    },
    {
        "score": "điểm là tốc độ so với trung vị của máy cùng loại, hoặc với chính nó trước đây: của số đo tụt xa nhất theo mức phân biệt được với ngẫu nhiên",
        "equals": "máy cùng loại là thiết bị cùng tên, driver và thư viện, trong một thư mục, được đo lâu như nhau",
        "out": "lệch là khi chậm hơn mức may rủi giải thích được (nhầm một thiết bị trên {devices}), và chậm {share}, hoặc nhiều đến mức không loại trừ được điều đó",
        "spread": "độ phân tán bền vững với giá trị lạ, của các thiết bị quanh trung vị; khi ít thiết bị thì được kéo về mức thường thấy",
        "promised": "điều được hứa là số đường nối mà công cụ của nút cho thấy x tốc độ công bố của một đường",
    },
)
