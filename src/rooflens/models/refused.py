"""Model types, and switches of others, that are refused, and why: what would have to be modelled first."""

from __future__ import annotations

SWITCHES: dict[str, str] = {
    "use_cla": "keys and values that neighbouring layers share (CLA)",
    "is_encoder_decoder": "an encoder beside the decoder",
    "add_cross_attention": "cross-attention, whose keys and values are cached apart",
}
REFUSED: dict[str, str] = {
    "minimax_m3": "attention over selected blocks of 128 positions, with an index of its own (sparse_attention_config)",
    "minimax_m3_vl": "attention over selected blocks of 128 positions, with an index of its own",
    "minimax_m3_vl_text": "attention over selected blocks of 128 positions, with an index of its own",
    "deepseek_v4": "caches compressed 4 and 128 to 1, several residual streams, experts chosen by hashing",
    "mllama": "cross-attention to image tokens, whose keys and values are cached apart",
    "blt": "a byte-level encoder and decoder around a transformer of patches",
    "longcat_flash": "experts that compute nothing, so that the active ones differ from token to token",
    "jetmoe": "attention whose query heads are experts",
    "diffllama": "attention as the difference of two maps",
    "doge": "attention over positions kept by a learned mask",
    "zaya": "convolutions inside attention, and routers that hand states on",
    "phi4mm": "adapters that are switched by the kind of input",
    "phi4_multimodal": "adapters that are switched by the kind of input",
    "phi3small": "attention that is sparse by blocks in every second layer",
    "rwkv": "a recurrence over channels (RWKV)",
    "xlstm": "matrix memories with exponential gates (xLSTM)",
    "dory": "layers that run in loops",
    "hrm_text": "layers that run in loops",
    "t5": "an encoder beside the decoder",
    "mt5": "an encoder beside the decoder",
    "bart": "an encoder beside the decoder",
    "whisper": "an encoder beside the decoder",
    "bert": "an encoder: nothing is generated token by token",
    "roberta": "an encoder: nothing is generated token by token",
    "modernbert": "an encoder: nothing is generated token by token",
}
