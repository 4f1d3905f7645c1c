"""Layers filled with other models' weights give what the models' own layers do.

The models are tiny, random, and made here by transformers: ``pip install transformers``.
"""

import pytest
import torch

from attention import KVCache, create_padding_mask
from interchange import layer_like, load_deepseek, load_gpt2, load_llama

transformers = pytest.importorskip(
    "transformers", reason="needs transformers: pip install transformers"
)

SMALL = {
    "hidden_size": 32, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "vocab_size": 11, "max_position_embeddings": 64,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
LLAMA3 = {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0} | {
    "factor": 8.0, "original_max_position_embeddings": 16,
}  # fmt: skip
PARTIAL = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}
MODELS = {
    "GPT2": {"n_embd": 32, "n_head": 4, "n_layer": 2, "vocab_size": 11, "n_positions": 64},
    "Llama": SMALL | {"rope_parameters": LLAMA3 | {"rope_theta": 500000.0}},
    "Mistral": SMALL | {"sliding_window": 6},
    "Qwen2": SMALL,
    "Qwen3": SMALL | {"rms_norm_eps": 1e-3, "rope_parameters": YARN | {"rope_theta": 1e6}},
    "Gemma2": SMALL | {"sliding_window": 6, "query_pre_attn_scalar": 16},
    "Gemma3Text": SMALL | {"sliding_window": 6, "query_pre_attn_scalar": 16},
    "Phi3": SMALL | {"rope_parameters": PARTIAL},
    "GptOss": SMALL | {"sliding_window": 6, "num_local_experts": 2, "num_experts_per_tok": 1},
    "DeepseekV3": SMALL
    | {
        "q_lora_rank": 12, "kv_lora_rank": 10, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4,
        "v_head_dim": 5, "n_routed_experts": 2, "num_experts_per_tok": 1, "n_group": 1,
        "topk_group": 1, "moe_intermediate_size": 8, "num_key_value_heads": 4,
        "head_dim": 4,
        "rope_parameters": YARN | {"rope_theta": 1e4, "mscale": 1.0, "mscale_all_dim": 1.0},
    },
}  # fmt: skip
CACHES = {"GPT2": (4, 8, 8), "DeepseekV3": (1, 10, 4)}  # heads, head_dim and value_dim
CASES = [(name, index) for name in MODELS for index in ((0, 1) if "Gemma" in name else (0,))]


def of_model(name):
    """A tiny model with random weights, norms and sinks included."""
    config = getattr(transformers, f"{name}Config")(**MODELS[name])
    config._attn_implementation = "eager"
    kind = getattr(transformers, "Gemma3TextModel" if name == "Gemma3Text" else f"{name}Model")
    torch.manual_seed(0)
    model = kind(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def seen_by(module, model, tokens, attention_mask):
    """What a module of the model was given, and what it gave."""
    seen = {}

    def look(_, args, kwargs, output):
        seen["x"] = args[0] if args else kwargs["hidden_states"]
        seen["output"] = output[0]

    hook = module.register_forward_hook(look, with_kwargs=True)
    with torch.no_grad():
        model(tokens, attention_mask=attention_mask)
    hook.remove()
    return seen["x"], seen["output"]


def filled(model, index):
    config, state = model.config, model.state_dict()
    layer = layer_like(config, index).eval()
    if config.model_type == "gpt2":
        return load_gpt2(layer, state, f"h.{index}.attn")
    prefix = f"layers.{index}.self_attn"
    if config.model_type == "deepseek_v3":
        return load_deepseek(layer, state, prefix)
    return load_llama(layer, state, prefix, model_type=config.model_type)


@pytest.mark.slow
@torch.no_grad()
@pytest.mark.parametrize(("name", "index"), CASES)
def test_a_layer_of_each_architecture(name, index):
    model = of_model(name)
    config = model.config
    block = (model.h if name == "GPT2" else model.layers)[index]
    lengths, tokens = [20, 13], torch.arange(40).view(2, 20) % 11
    real = create_padding_mask(lengths, 20)
    module = block.attn if name == "GPT2" else block.self_attn
    x, padded = seen_by(module, model, tokens, real[:, 0, 0].long())
    layer = filled(model, index)
    options = {"is_causal": True} if name == "DeepseekV3" else {}
    kinds = getattr(config, "layer_types", None)
    slides = kinds[index] == "sliding_attention" if kinds else name == "Mistral"
    if slides and getattr(config, "sliding_window", None):
        options["window"] = config.sliding_window
    most = padded.abs().max()
    assert most > 0.1
    for got, want, length in zip(layer(x, real, **options), padded, lengths, strict=True):
        assert (got - want)[:length].abs().max() < 1e-5 * most
    heads, size, value_dim = CACHES.get(name, (2, 8, 8))
    cache = KVCache(1, heads, 20, size, value_dim=value_dim)
    steps = [layer(one, cache=cache, **options) for one in x[:1].split([9, 3, *[1] * 8], 1)]
    assert (torch.cat(steps, 1) - padded[:1]).abs().max() < 1e-5 * most


@pytest.mark.parametrize("name", ["Bert", "Bloom", "Mpt", "Whisper", "T5", "DeepseekV2"])
def test_another_architecture_is_refused_by_name(name):
    config = getattr(transformers, f"{name}Config")()
    with pytest.raises(ValueError, match=f"model_type must be one of .*{config.model_type}"):
        layer_like(config)
