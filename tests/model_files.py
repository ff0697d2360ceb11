"""Writes small model files as their formats say: whole headers, and data that is only a hole in the file."""

import json
import struct

LLAMA_31_8B = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": False,
    "torch_dtype": "bfloat16", "max_position_embeddings": 131072,
}  # fmt: skip
TINY = {**LLAMA_31_8B, "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4, "num_key_value_heads": 2,
        "num_hidden_layers": 2, "vocab_size": 1024}  # fmt: skip
SAFE_BITS = {"BF16": 16, "F32": 32, "F8_E4M3": 8, "I32": 32, "U8": 8, "F16": 16}


def llama_shapes(config, tied=False):
    """The tensors of a llama in safetensors: name to (rows, columns)."""
    width, ffn, vocab = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    head = width // config["num_attention_heads"]
    kv = config["num_key_value_heads"] * head
    shapes = {"model.embed_tokens.weight": (vocab, width), "model.norm.weight": (width,)}
    if not tied:
        shapes["lm_head.weight"] = (vocab, width)
    for i in range(config["num_hidden_layers"]):
        at = f"model.layers.{i}"
        shapes |= {f"{at}.self_attn.{n}_proj.weight": (r, width) for n, r in (("q", width), ("k", kv), ("v", kv))}
        shapes |= {f"{at}.self_attn.o_proj.weight": (width, width), f"{at}.mlp.down_proj.weight": (width, ffn)}
        shapes |= {f"{at}.mlp.{n}_proj.weight": (ffn, width) for n in ("gate", "up")}
        shapes |= {f"{at}.{n}_layernorm.weight": (width,) for n in ("input", "post_attention")}
    return shapes


def nbytes(shape, bits):
    count = 1
    for size in shape:
        count *= size
    return count * bits // 8


def write_safetensors(path, tensors, *, cut=0, more=0):
    """tensors: name to (dtype, shape). cut, more: bytes of data left away or added."""
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, (dtype, shape) in tensors.items():
        end = at + nbytes(shape, SAFE_BITS[dtype])
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, end]}
        at = end
    write_header(path, json.dumps(header).encode(), at - cut + more)


def write_header(path, header, data_bytes=0):
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + data_bytes)


GGUF_IDS = {"fp32": (0, 1, 4), "fp16": (1, 1, 2), "q8_0": (8, 32, 34), "q4_k": (12, 256, 144), "q6_k": (14, 256, 210)}


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def pair(key, value):
    if isinstance(value, bool):
        return text(key) + struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return text(key) + struct.pack("<II", 4, value)
    if isinstance(value, str):
        return text(key) + struct.pack("<I", 8) + text(value)
    if value and isinstance(value[0], str):
        return text(key) + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
    return text(key) + struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)


def gguf_bytes(metadata, tensors, version=3):
    """The header, and the size of the whole file. tensors: name to (dtype, dimensions as the format orders them)."""
    header = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    header += b"".join(pair(key, value) for key, value in metadata.items())
    at = 0
    for name, (dtype, dims) in tensors.items():
        number, block, block_bytes = GGUF_IDS[dtype]
        header += text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, number, at)
        at += nbytes(dims, 8) // block * block_bytes
        at = -(-at // 32) * 32
    return header, -(-len(header) // 32) * 32 + at


def write_gguf(path, metadata, tensors, *, cut=0, version=3):
    header, size = gguf_bytes(metadata, tensors, version)
    with path.open("wb") as file:
        file.write(header)
        file.truncate(size - cut)


def llama_gguf(config, types, tied=False):
    """Metadata and tensors of a llama; types(name, layer) picks the format of each matrix, norms are fp32."""
    width, ffn, vocab, layers = (
        config[k] for k in ("hidden_size", "intermediate_size", "vocab_size", "num_hidden_layers")
    )
    kv = config["num_key_value_heads"] * width // config["num_attention_heads"]
    metadata = {
        "general.architecture": "llama", "general.name": "a llama", "llama.block_count": layers,
        "llama.embedding_length": width, "llama.feed_forward_length": ffn, "llama.context_length": 131072,
        "llama.attention.head_count": config["num_attention_heads"],
        "llama.attention.head_count_kv": config["num_key_value_heads"],
        "tokenizer.ggml.tokens": [f"t{i}" for i in range(64)], "tokenizer.chat_template": "x" * 100_000,
    }  # fmt: skip
    sizes = {"token_embd": (width, vocab), "output_norm": (width,)} | ({} if tied else {"output": (width, vocab)})
    per_layer = {
        "attn_q": (width, width), "attn_k": (width, kv), "attn_v": (width, kv), "attn_output": (width, width),
        "ffn_gate": (width, ffn), "ffn_up": (width, ffn), "ffn_down": (ffn, width), "attn_norm": (width,),
        "ffn_norm": (width,),
    }  # fmt: skip
    sizes |= {f"blk.{i}.{name}": dims for i in range(layers) for name, dims in per_layer.items()}
    tensors = {}
    for name, dims in sizes.items():
        layer = int(name.split(".")[1]) if name.startswith("blk.") else -1
        tensors[f"{name}.weight"] = ("fp32" if len(dims) == 1 else types(name.rpartition(".")[2], layer), dims)
    return metadata, tensors


def q4_k_m(name, layer, layers=32):
    """The mixture that llama.cpp calls Q4_K_M: attention values and down projections of half of the layers in Q6_K."""
    more = layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2
    return "q6_k" if name == "output" or (name in ("attn_v", "ffn_down") and more) else "q4_k"
