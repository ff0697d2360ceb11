"""What `rooflens predict` says of one operator alone."""

from __future__ import annotations

EN: dict[str, str] = {
    "predict.alone.time": "time: floor {floor}, expected {expected}",
    "predict.alone.resident": "floor with its data in the last cache: {floor}",
    "predict.alone.where": "where the time goes ({bound}-bound; compute and memory overlap): {parts}",
    "predict.alone.where.launch": "launch",
    "predict.alone.where.compute": "compute",
    "predict.alone.where.memory": "memory",
    "predict.alone.where.vector": "vector work",
    "predict.alone.where.joining": "joining parts of K",
    "predict.alone.where.narrowing": "narrowing activations",
    "predict.alone.tiles": "tiles of {rows} x {columns}, parts of K: {cuts}, blocks: {blocks}, waves: {waves}; {efficiency} of their work is asked for",
    "predict.alone.efficiency": "{efficiency} of the work of its tiles is asked for",
    "predict.alone.shares": "as expected: MFU {mfu}, MBU {mbu}",
}

ES: dict[str, str] = {
    "predict.alone.time": "tiempo: mínimo {floor}, esperado {expected}",
    "predict.alone.resident": "mínimo con sus datos en la última caché: {floor}",
    "predict.alone.where": "en qué se va el tiempo (limita {bound}; cómputo y memoria se solapan): {parts}",
    "predict.alone.where.launch": "lanzamiento",
    "predict.alone.where.compute": "cómputo",
    "predict.alone.where.memory": "memoria",
    "predict.alone.where.vector": "trabajo vectorial",
    "predict.alone.where.joining": "unión de las partes de K",
    "predict.alone.where.narrowing": "estrechar activaciones",
    "predict.alone.tiles": "teselas de {rows} x {columns}, partes de K: {cuts}, bloques: {blocks}, oleadas: {waves}; se pide {efficiency} de su trabajo",
    "predict.alone.efficiency": "se pide {efficiency} del trabajo de sus teselas",
    "predict.alone.shares": "según lo esperado: MFU {mfu}, MBU {mbu}",
}

VI: dict[str, str] = {
    "predict.alone.time": "thời gian: tối thiểu {floor}, dự kiến {expected}",
    "predict.alone.resident": "tối thiểu khi dữ liệu nằm sẵn trong cache cuối: {floor}",
    "predict.alone.where": "thời gian đi đâu (giới hạn bởi {bound}; tính toán và bộ nhớ chồng lên nhau): {parts}",
    "predict.alone.where.launch": "khởi chạy",
    "predict.alone.where.compute": "tính toán",
    "predict.alone.where.memory": "bộ nhớ",
    "predict.alone.where.vector": "việc vector",
    "predict.alone.where.joining": "gộp các phần của K",
    "predict.alone.where.narrowing": "thu hẹp kích hoạt",
    "predict.alone.tiles": "ô {rows} x {columns}, số phần của K: {cuts}, khối: {blocks}, lượt: {waves}; {efficiency} việc của chúng là cần thiết",
    "predict.alone.efficiency": "{efficiency} việc của các ô là cần thiết",
    "predict.alone.shares": "theo dự kiến: MFU {mfu}, MBU {mbu}",
}
