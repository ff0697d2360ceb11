"""The names that engines give what they tell, old ones and new ones, in the order in which they are believed.

What engines call differently: a counter of seconds beside a gauge of tokens/s (llama.cpp), tokens in a histogram's sum
(TGI), counters that move only when a request ends beside those that run (SGLang).
"""

from __future__ import annotations

from rooflens.readers.metrics.table import Name, Part, Table


def _all(part: Part, *pairs: tuple[str, str], prefix: str) -> tuple[Name, ...]:
    return tuple(Name(quantity, prefix + metric, part) for quantity, metric in pairs)


_VLLM = "vllm:"
VLLM = Table(
    "vllm",
    _VLLM,
    (
        Name("computed_prompt_tokens_total", "vllm:prompt_tokens_by_source_total", where={"source": "local_compute"}),
        *_all(
            "counter",
            ("prompt_tokens_total", "prompt_tokens_total"),
            ("cached_prompt_tokens_total", "prompt_tokens_cached_total"),
            ("cached_prompt_tokens_total", "prefix_cache_hits_total"),
            ("cached_prompt_tokens_total", "gpu_prefix_cache_hits_total"),
            ("generation_tokens_total", "generation_tokens_total"),
            ("steps_total", "iteration_tokens_total_count"),
            ("finished_requests_total", "request_generation_tokens_count"),
            ("finished_prompt_tokens_total", "request_prompt_tokens_sum"),
            ("finished_generation_tokens_total", "request_generation_tokens_sum"),
            ("preemptions_total", "num_preemptions_total"),
            ("drafts_total", "spec_decode_num_drafts_total"),
            ("draft_tokens_total", "spec_decode_num_draft_tokens_total"),
            ("accepted_draft_tokens_total", "spec_decode_num_accepted_tokens_total"),
            ("estimated_flops_total", "estimated_flops_per_gpu_total"),
            ("estimated_read_bytes_total", "estimated_read_bytes_per_gpu_total"),
            ("estimated_write_bytes_total", "estimated_write_bytes_per_gpu_total"),
            prefix=_VLLM,
        ),
        *_all(
            "gauge",
            ("running", "num_requests_running"),
            ("waiting", "num_requests_waiting"),
            ("kv_usage", "kv_cache_usage_perc"),
            ("kv_usage", "gpu_cache_usage_perc"),
            ("prompt_tokens_per_s", "avg_prompt_throughput_toks_per_s"),
            ("generation_tokens_per_s", "avg_generation_throughput_toks_per_s"),
            prefix=_VLLM,
        ),
        *_all(
            "histogram",
            ("ttft_s", "time_to_first_token_seconds"),
            ("tpot_s", "request_time_per_output_token_seconds"),
            ("itl_s", "inter_token_latency_seconds"),
            ("itl_s", "time_per_output_token_seconds"),  # its name before it was called what it is
            ("e2e_s", "e2e_request_latency_seconds"),
            ("queue_s", "request_queue_time_seconds"),
            prefix=_VLLM,
        ),
    ),
    info=("vllm:cache_config_info",),
    remedies={
        "estimated_read_bytes_total": "vllm tells its own estimates with --enable-mfu-metrics",
        "steps_total": "this vllm tells no vllm:iteration_tokens_total, whose count is its steps: newer ones do",
        "kv_tokens": "this vllm tells no vllm:cache_config_info, whose labels size its pool",
    },
)
_SGLANG = "sglang:"
SGLANG = Table(
    "sglang",
    _SGLANG,
    (
        Name("computed_prompt_tokens_total", "sglang:realtime_tokens_total", where={"mode": "prefill_compute"}),
        Name("cached_prompt_tokens_total", "sglang:realtime_tokens_total", where={"mode": "prefill_cache"}),
        Name("generation_tokens_total", "sglang:realtime_tokens_total", where={"mode": "decode"}),
        *_all(
            "counter",
            ("cached_prompt_tokens_total", "cached_tokens_total"),
            ("prompt_tokens_total", "prompt_tokens_total"),
            ("generation_tokens_total", "generation_tokens_total"),
            ("finished_requests_total", "num_requests_total"),
            ("finished_prompt_tokens_total", "prompt_tokens_total"),
            ("finished_generation_tokens_total", "generation_tokens_total"),
            ("busy_s_total", "forward_execution_seconds_total"),
            ("estimated_flops_total", "estimated_flops_per_gpu_total"),
            ("estimated_read_bytes_total", "estimated_read_bytes_per_gpu_total"),
            ("estimated_write_bytes_total", "estimated_write_bytes_per_gpu_total"),
            prefix=_SGLANG,
        ),
        *_all(
            "gauge",
            ("running", "num_running_reqs"),
            ("waiting", "num_queue_reqs"),
            ("kv_usage", "token_usage"),
            ("kv_tokens", "num_used_tokens"),
            ("kv_capacity_tokens", "max_total_num_tokens"),
            ("kv_read_tokens", "decode_sum_seq_lens"),
            ("generation_tokens_per_s", "gen_throughput"),
            ("tokens_a_draft_step", "spec_accept_length"),
            prefix=_SGLANG,
        ),
        Name("weight_bytes", "sglang:weight_memory_usage_gb", "gauge", times=2.0**30),
        Name("kv_pool_bytes", "sglang:kv_cache_memory_usage_gb", "gauge", times=2.0**30),
        *_all(
            "histogram",
            ("ttft_s", "time_to_first_token_seconds"),
            ("tpot_s", "request_time_per_output_token_seconds"),
            ("itl_s", "inter_token_latency_seconds"),
            ("itl_s", "time_per_output_token_seconds"),
            ("e2e_s", "e2e_request_latency_seconds"),
            ("queue_s", "queue_time_seconds"),
            prefix=_SGLANG,
        ),
    ),
    engine_label="dp_rank",
    ranks=("pp_rank", "tp_rank", "moe_ep_rank"),
    remedies={
        "kv_tokens": "this sglang tells no sglang:num_used_tokens",
        "busy_s_total": "sglang tells how long it computed with SGLANG_ENABLE_METRICS_DEVICE_TIMER=1",
    },
)
_TRT = "trtllm_"
TRTLLM = Table(
    "trtllm",
    _TRT,
    (
        *_all(
            "counter",
            ("prompt_tokens_total", "prompt_tokens_total"),
            ("cached_prompt_tokens_total", "prompt_cached_tokens_total"),
            ("generation_tokens_total", "generation_tokens_total"),
            ("steps_total", "iteration_latency_seconds_count"),
            ("busy_s_total", "iteration_latency_seconds_sum"),
            ("finished_requests_total", "request_success_total"),
            ("finished_requests_total", "num_requests_completed_total"),
            prefix=_TRT,
        ),
        *_all(
            "gauge",
            ("running", "num_requests_running"),
            ("waiting", "num_requests_waiting"),
            ("kv_usage", "kv_cache_utilization"),
            ("kv_used_blocks", "kv_cache_used_blocks"),
            ("kv_capacity_blocks", "kv_cache_max_blocks"),
            ("kv_block_tokens", "kv_cache_tokens_per_block"),
            ("step_s", "iteration_latency_seconds"),
            ("tokens_a_draft_step", "avg_decoded_tokens_per_iter"),
            prefix=_TRT,
        ),
        *_all(
            "histogram",
            ("ttft_s", "time_to_first_token_seconds"),
            ("tpot_s", "time_per_output_token_seconds"),
            ("e2e_s", "e2e_request_latency_seconds"),
            ("queue_s", "request_queue_time_seconds"),
            prefix=_TRT,
        ),
    ),
    info=("trtllm_model_config_info", "trtllm_parallel_config_info"),
    remedies={
        "generation_tokens_total": "this trtllm-serve tells a few latencies only: newer releases count tokens, steps "
        "and cache at /prometheus/metrics",
    },
)
_TGI = "tgi_"
TGI = Table(
    "tgi",
    _TGI,
    (
        *_all(
            "counter",
            ("prompt_tokens_total", "request_input_length_sum"),
            ("cached_prompt_tokens_total", "request_skipped_tokens_sum"),
            ("generation_tokens_total", "request_generated_tokens_sum"),
            ("finished_requests_total", "request_generated_tokens_count"),
            ("finished_prompt_tokens_total", "request_input_length_sum"),
            ("finished_generation_tokens_total", "request_generated_tokens_sum"),
            ("steps_total", "batch_forward_duration_count"),
            ("busy_s_total", "batch_forward_duration_sum"),
            prefix=_TGI,
        ),
        Name("decode_steps_total", "tgi_batch_forward_duration_count", where={"method": "decode"}),
        *_all("gauge", ("running", "batch_current_size"), ("waiting", "queue_size"), prefix=_TGI),
        *_all(
            "histogram",
            ("tpot_s", "request_mean_time_per_token_duration"),
            ("e2e_s", "request_duration"),
            ("queue_s", "request_queue_duration"),
            prefix=_TGI,
        ),
    ),
    remedies={
        "ttft_s": "tgi tells no time to first token",
        "kv_usage": "tgi tells nothing of its cache",
    },
)
_LLAMA = "llamacpp:"
LLAMA = Table(
    "llama.cpp",
    _LLAMA,
    (
        *_all(
            "counter",
            ("computed_prompt_tokens_total", "prompt_tokens_total"),
            ("cached_prompt_tokens_total", "prompt_tokens_cached_total"),
            ("generation_tokens_total", "tokens_predicted_total"),
            ("steps_total", "n_decode_total"),
            ("prompt_s_total", "prompt_seconds_total"),
            ("generation_s_total", "tokens_predicted_seconds_total"),
            ("drafts_total", "spec_decode_num_drafts_total"),
            ("draft_tokens_total", "spec_decode_num_draft_tokens_total"),
            ("accepted_draft_tokens_total", "spec_decode_num_accepted_tokens_total"),
            prefix=_LLAMA,
        ),
        *_all(
            "gauge",
            ("running", "requests_processing"),
            ("waiting", "requests_deferred"),
            ("kv_usage", "kv_cache_usage_ratio"),
            ("kv_tokens", "kv_cache_tokens"),
            ("prompt_tokens_per_s", "prompt_tokens_seconds"),  # named seconds, and tokens a second
            ("generation_tokens_per_s", "predicted_tokens_seconds"),
            ("slots_a_step", "n_busy_slots_per_decode"),
            prefix=_LLAMA,
        ),
    ),
    model_labels=("model",),
    remedies={
        "ttft_s": "llama.cpp tells the time to first token in each response alone (timings)",
        "kv_usage": "this llama.cpp tells nothing of its cache: /props holds its size",
    },
)
TABLES = (VLLM, SGLANG, TRTLLM, TGI, LLAMA)
