"""What tensor names of many families say."""

import pytest

from rooflens.readers.names import is_learned, layer_of, part_of


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("model.embed_tokens.weight", "embed"),
        ("transformer.wte.weight", "embed"),
        ("wpe.weight", "embed"),
        ("transformer.word_embeddings.weight", "embed"),
        ("backbone.embeddings.weight", "embed"),
        ("token_embd.weight", "embed"),
        ("lm_head.weight", "head"),
        ("output.weight", "head"),
        ("gpt_neox.embed_out.weight", "head"),
        ("model.norm.weight", "norm"),
        ("output_norm.weight", "norm"),
        ("h.0.ln_1.weight", "norm"),
        ("transformer.word_embeddings_layernorm.weight", "norm"),
        ("transformer.blocks.0.norm_attn_norm.norm_1.weight", "norm"),
        ("model.layers.0.self_attn.q_norm.weight", "norm"),
        ("model.layers.0.self_attn.q_proj.bias", "norm"),
        ("model.layers.0.self_attn.sinks", "norm"),
        ("model.layers.0.mlp.experts.gate_up_proj_bias", "norm"),
        ("transformer.blocks.0.norm_attn_norm.attn.Wqkv.weight", "project"),
        ("model.layers.0.self_attn.q_proj.weight_scale", "project"),
        ("model.layers.0.self_attn.kv_a_proj_with_mqa.weight", "project"),
        ("transformer.h.0.self_attention.query_key_value.weight", "project"),
        ("blk.0.attn_output.weight", "project"),
        ("backbone.layers.0.mixer.o_proj.weight", "project"),
        ("model.layers.0.mlp.gate_proj.qweight", "linear"),
        ("h.0.mlp.c_fc.weight", "linear"),
        ("blk.0.ffn_down.weight", "linear"),
        ("backbone.layers.1.mixer.up_proj.weight", "linear"),
        ("model.layers.3.mlp.gate.weight", "router"),
        ("model.layers.3.block_sparse_moe.gate.weight", "router"),
        ("blk.3.ffn_gate_inp.weight", "router"),
        ("backbone.layers.1.mixer.gate.weight", "router"),
        ("model.layers.3.mlp.experts.17.up_proj.weight", "expert"),
        ("model.layers.3.mlp.experts.gate_up_proj_blocks", "expert"),
        ("blk.3.ffn_up_exps.weight", "expert"),
        ("model.layers.3.mlp.shared_experts.up_proj.weight", "shared"),
        ("blk.3.ffn_up_shexp.weight", "shared"),
        ("model.layers.3.linear_attn.in_proj_qkvz.weight", "ssm"),
        ("model.layers.3.linear_attn.conv1d.weight", "conv"),
        ("backbone.layers.0.mixer.in_proj.weight", "ssm"),
        ("blk.0.ssm_out.weight", "ssm"),
        ("model.visual.blocks.0.attn.qkv.weight", None),
        ("vision_tower.encoder.layers.0.mlp.fc1.weight", None),
        ("multi_modal_projector.linear_1.weight", None),
        ("mtp.layers.0.self_attn.q_proj.weight", None),
    ],
)
def test_a_name_says_its_part(name, part):
    assert part_of(name) == part


@pytest.mark.parametrize(
    "name",
    [
        "model.layers.0.self_attn.q_proj.weight_scale_inv",
        "model.layers.0.self_attn.q_proj.weight_scale_2",
        "model.layers.0.self_attn.q_proj.input_scale",
        "model.layers.0.self_attn.k_scale",
        "model.layers.0.mlp.up_proj.qzeros",
        "model.layers.0.mlp.up_proj.g_idx",
        "model.layers.0.mlp.up_proj.scales",
        "model.layers.0.mlp.up_proj.biases",
        "model.layers.0.mlp.up_proj.weight.absmax",
        "model.layers.0.mlp.up_proj.weight.quant_state.bitsandbytes__nf4",
        "model.layers.0.mlp.up_proj.SCB",
        "model.layers.0.mlp.experts.gate_up_proj_scales",
        "model.layers.0.mlp.gate.e_score_correction_bias",
        "h.0.attn.bias",
        "rope_freqs.weight",
        "model.layers.0.self_attn.rotary_emb.inv_freq",
    ],
)
def test_scales_indices_and_tables_are_no_parameters(name):
    assert not is_learned(name)


@pytest.mark.parametrize("name", ["lm_head.weight", "h.0.attn.c_attn.bias", "model.layers.0.self_attn.sinks"])
def test_weights_and_biases_are_parameters(name):
    assert is_learned(name)


def test_a_name_says_its_layer():
    assert [layer_of(n) for n in ("model.layers.61.mlp.up_proj.weight", "blk.7.attn_q.weight", "h.3.ln_1.bias")] == [
        61,
        7,
        3,
    ]
    assert layer_of("lm_head.weight") is None
