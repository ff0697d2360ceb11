"""What `rooflens fleet measure` says."""

from __future__ import annotations

EN: dict[str, str] = {
    "fleet_measure.node": "node",
    "fleet_measure.state": "what came of it",
    "fleet_measure.attempts": "attempts",
    "fleet_measure.file": "file",
    "fleet_measure.state.measured": "measured",
    "fleet_measure.state.landed_before": "measured before",
    "fleet_measure.state.died": "died",
    "fleet_measure.state.hung": "hung",
    "fleet_measure.state.garbage": "no profile",
    "fleet_measure.state.refused": "refused",
    "fleet_measure.told": "{count} of {all}  {node}: {what}",
    "fleet_measure.left_out": "{node} is not measured: {why}",
    "fleet_measure.began": "all began within {time}",
    "fleet_measure.landed": "{count} of {all} nodes have their profile in {folder}; next: rooflens fleet report {folder}",
    "fleet_measure.missing": "{count} of {all} nodes gave no profile; the same line asks these again",
}

ES: dict[str, str] = {
    "fleet_measure.node": "nodo",
    "fleet_measure.state": "qué fue de él",
    "fleet_measure.attempts": "intentos",
    "fleet_measure.file": "archivo",
    "fleet_measure.state.measured": "medido",
    "fleet_measure.state.landed_before": "medido antes",
    "fleet_measure.state.died": "murió",
    "fleet_measure.state.hung": "colgado",
    "fleet_measure.state.garbage": "sin perfil",
    "fleet_measure.state.refused": "rechazado",
    "fleet_measure.told": "{count} de {all}  {node}: {what}",
    "fleet_measure.left_out": "{node} no se mide: {why}",
    "fleet_measure.began": "todos empezaron en un plazo de {time}",
    "fleet_measure.landed": "{count} de {all} nodos tienen su perfil en {folder}; después: rooflens fleet report {folder}",
    "fleet_measure.missing": "{count} de {all} nodos no dieron un perfil; la misma línea pregunta de nuevo a estos",
}

VI: dict[str, str] = {
    "fleet_measure.node": "node",
    "fleet_measure.state": "kết quả",
    "fleet_measure.attempts": "số lần hỏi",
    "fleet_measure.file": "tệp",
    "fleet_measure.state.measured": "đã đo",
    "fleet_measure.state.landed_before": "đã đo từ trước",
    "fleet_measure.state.died": "đã chết",
    "fleet_measure.state.hung": "bị treo",
    "fleet_measure.state.garbage": "không có profile",
    "fleet_measure.state.refused": "từ chối",
    "fleet_measure.told": "{count}/{all}  {node}: {what}",
    "fleet_measure.left_out": "{node} không được đo: {why}",
    "fleet_measure.began": "tất cả bắt đầu trong vòng {time}",
    "fleet_measure.landed": "{count}/{all} node có profile trong {folder}; tiếp theo: rooflens fleet report {folder}",
    "fleet_measure.missing": "{count}/{all} node không cho profile; chạy lại chính dòng lệnh này để hỏi lại các node đó",
}
