"""Sentences that reach the screen as data, as in `retold`: what an estimate of one kernel rests on."""

from __future__ import annotations

EN: dict[str, str] = {
    "retold.no_family": "floors only: no kernel was measured on this kind of chip ({machine})",
    "retold.no_roofs": "floors only: constants are shares of a datasheet's roofs, and this machine has none",
    "retold.no_kernel": "floors only: no kernel of {name} in these formats was measured",
    "retold.no_flavour": "floors only: no kernel of flavour {flavour} was measured on any chip",
    "retold.no_units": "floors only: the units or the clock of {machine} are not known, so no kernel's time is estimated",
    "retold.other_chips": "no kernel of flavour {flavour} was measured on {machine}: constants are those of other chips",
    "retold.no_engine": "no kernel of flavour {flavour} was measured of {engine}: constants are those of no engine",
    "retold.cache_shown": "the size of the last cache of {machine} is not known: measured rows show {size}",
    "retold.cache_unknown": "the size of the last cache of {machine} is not known: nothing is expected to stay in it",
    "retold.scales": "fp8 with {scales} scales; --flavour says otherwise",
    "retold.prefix": "the constants of prompts were fitted on causal ones without a prefix",
    "retold.fits_cache": "{moved} fit the last cache of {size}: repeated, the kernel may find its data there and beat the floor, which counts it from memory; within a step it will not be there",
    "retold.datasheet_roofs": "the estimate takes the roofs of the datasheet of {machine}",
    "retold.fitted": "fitted on {rows} rows, {date}",
    "retold.prior": "prior, from {rows} rows of others, {date}",
}

ES: dict[str, str] = {
    "retold.no_family": "solo mínimos: no se midió ningún kernel en este tipo de chip ({machine})",
    "retold.no_roofs": "solo mínimos: las constantes son partes de los techos de una hoja de datos, y esta máquina no la tiene",
    "retold.no_kernel": "solo mínimos: no se midió ningún kernel de {name} en estos formatos",
    "retold.no_flavour": "solo mínimos: no se midió ningún kernel del tipo {flavour} en ningún chip",
    "retold.no_units": "solo mínimos: no se conocen las unidades o el reloj de {machine}, así que no se estima el tiempo de ningún kernel",
    "retold.other_chips": "no se midió ningún kernel del tipo {flavour} en {machine}: las constantes son de otros chips",
    "retold.no_engine": "no se midió ningún kernel del tipo {flavour} de {engine}: las constantes son de ningún motor",
    "retold.cache_shown": "no se conoce el tamaño de la última caché de {machine}: las filas medidas muestran {size}",
    "retold.cache_unknown": "no se conoce el tamaño de la última caché de {machine}: no se espera que nada quede en ella",
    "retold.scales": "fp8 con escalas {scales}; --flavour dice otra cosa",
    "retold.prefix": "las constantes de los prompts se ajustaron con prompts causales sin prefijo",
    "retold.fits_cache": "{moved} caben en la última caché de {size}: repetido, el kernel puede hallar allí sus datos y batir el mínimo, que los cuenta desde la memoria; dentro de un paso no estarán allí",
    "retold.datasheet_roofs": "la estimación toma los techos de la hoja de datos de {machine}",
    "retold.fitted": "ajustado con {rows} filas, {date}",
    "retold.prior": "a priori, de {rows} filas de otros, {date}",
}

VI: dict[str, str] = {
    "retold.no_family": "chỉ có mức tối thiểu: chưa đo kernel nào trên loại chip này ({machine})",
    "retold.no_roofs": "chỉ có mức tối thiểu: hằng số là phần của các trần trong datasheet, mà máy này không có",
    "retold.no_kernel": "chỉ có mức tối thiểu: chưa đo kernel {name} nào ở các định dạng này",
    "retold.no_flavour": "chỉ có mức tối thiểu: chưa đo kernel loại {flavour} nào trên bất kỳ chip nào",
    "retold.no_units": "chỉ có mức tối thiểu: không rõ số đơn vị hoặc xung nhịp của {machine} nên không ước lượng thời gian kernel",
    "retold.other_chips": "chưa đo kernel loại {flavour} nào trên {machine}: hằng số là của các chip khác",
    "retold.no_engine": "chưa đo kernel loại {flavour} nào của {engine}: hằng số không theo engine nào",
    "retold.cache_shown": "không rõ kích thước cache cuối của {machine}: các hàng đo được cho thấy {size}",
    "retold.cache_unknown": "không rõ kích thước cache cuối của {machine}: không trông đợi gì nằm lại trong đó",
    "retold.scales": "fp8 với thang {scales}; --flavour để chọn khác",
    "retold.prefix": "hằng số của prompt được khớp trên prompt nhân quả không có tiền tố",
    "retold.fits_cache": "{moved} vừa cache cuối {size}: khi lặp lại, kernel có thể thấy dữ liệu ở đó và vượt mức tối thiểu, vốn tính từ bộ nhớ; trong một bước thì không còn ở đó",
    "retold.datasheet_roofs": "ước lượng lấy các trần trong datasheet của {machine}",
    "retold.fitted": "khớp trên {rows} hàng, {date}",
    "retold.prior": "tiên nghiệm, từ {rows} hàng của chip khác, {date}",
}
