# SPDX-License-Identifier: Apache-2.0
"""Writes fixtures/{gpt2,qwen3,vit}.json: tiny random models of Hugging Face's transformers, with inputs and outputs.

    pip install torch transformers
    python make_fixtures.py

Weights have the names and layout of lab/models: [out, in], query, key and value apart. They are rounded to 1e-3, which
keeps the files small. Outputs are computed in double.
"""

import json
import pathlib
from typing import Any

import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    Qwen3Config,
    Qwen3ForCausalLM,
    ViTConfig,
    ViTForImageClassification,
)

Tensors = dict[str, torch.Tensor]


def gpt2_names(parameters: Tensors) -> Tensors:
    """GPT-2 stores [in, out], and query, key and value side by side."""
    ours: Tensors = {}
    for name, value in parameters.items():
        path = name.removeprefix("transformer.").split(".")
        if path[0] != "h":
            modules = {"wte": "token_embedding", "wpe": "position_embedding", "ln_f": "final_norm"}
            ours[f"{modules[path[0]]}.{path[1]}"] = value
            continue
        block, module, leaf = f"block{path[1]}", ".".join(path[2:-1]), path[-1]
        if module == "attn.c_attn":
            for part, rows in zip(
                ("query", "key", "value"), value.t().chunk(3) if leaf == "weight" else value.chunk(3)
            ):
                ours[f"{block}.{part}.{leaf}"] = rows
            continue
        modules = {
            "ln_1": "attention_norm",
            "ln_2": "mlp_norm",
            "attn.c_proj": "attention_output",
            "mlp.c_fc": "up",
            "mlp.c_proj": "down",
        }
        ours[f"{block}.{modules[module]}.{leaf}"] = value.t() if value.dim() == 2 else value
    return ours


def qwen3_names(parameters: Tensors) -> Tensors:
    modules = {
        "input_layernorm": "attention_norm",
        "post_attention_layernorm": "mlp_norm",
        "self_attn.q_proj": "query",
        "self_attn.k_proj": "key",
        "self_attn.v_proj": "value",
        "self_attn.o_proj": "attention_output",
        "self_attn.q_norm": "query_norm",
        "self_attn.k_norm": "key_norm",
        "mlp.gate_proj": "gate",
        "mlp.up_proj": "up",
        "mlp.down_proj": "down",
    }
    ours: Tensors = {}
    for name, value in parameters.items():
        path = name.removeprefix("model.").split(".")
        if path[0] == "layers":
            ours[f"block{path[1]}.{modules['.'.join(path[2:-1])]}.weight"] = value
        else:
            ours[{"embed_tokens": "token_embedding", "norm": "final_norm"}[path[0]] + ".weight"] = value
    return ours


def vit_names(parameters: Tensors) -> Tensors:
    """The names of transformers changed over time: a parameter is known by the end of its name."""
    ends = {
        "cls_token": "class_token",
        "position_embeddings": "position_embedding",
        "patch_embeddings.projection": "patch_embedding",
        "vit.layernorm": "final_norm",
        "classifier": "head",
    }
    block_ends = {
        "layernorm_before": "attention_norm",
        "layernorm_after": "mlp_norm",
        "attention.output.dense": "attention_output",
        "attention.o_proj": "attention_output",
        "query": "query",
        "key": "key",
        "value": "value",
        "q_proj": "query",
        "k_proj": "key",
        "v_proj": "value",
        "intermediate.dense": "up",
        "mlp.fc1": "up",
        "mlp.fc2": "down",
        "output.dense": "down",
    }
    ours: Tensors = {}
    for name, value in parameters.items():
        path = name.split(".")
        numbers = [part for part in path if part.isdigit()]
        module, leaf = (name, "") if path[-1] not in ("weight", "bias") else (".".join(path[:-1]), "." + path[-1])
        known = next(ours_name for end, ours_name in (block_ends if numbers else ends).items() if module.endswith(end))
        prefix = f"block{numbers[0]}." if numbers else ""
        ours[prefix + known + leaf] = value.flatten(1) if value.dim() == 4 else value
    return ours


def numbers(tensor: torch.Tensor) -> list[Any]:
    return tensor.detach().flatten().tolist()


def write(name: str, model: torch.nn.Module, rename: Any, config: dict[str, int], inputs: Any, run: Any) -> None:
    """run(model, inputs) returns logits and loss."""
    model.double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_((torch.randn(parameter.shape) * 0.3 + (parameter.dim() == 1)).mul(1e3).round().div(1e3))
    logits, loss = run(model, inputs)
    loss.backward()
    parameters = dict(model.named_parameters())
    fixture = {
        "config": config,
        "inputs": {key: {"shape": list(value.shape), "values": numbers(value)} for key, value in inputs.items()},
        "weights": {
            key: {"shape": list(value.shape), "values": [round(x, 3) for x in numbers(value)]}
            for key, value in rename(parameters).items()
        },
        "logits": numbers(logits),
        "loss": loss.item(),
        "gradient_norms": {
            key: value.norm().item() for key, value in rename({k: v.grad for k, v in parameters.items()}).items()
        },
    }
    path = pathlib.Path(__file__).parent / "fixtures" / f"{name}.json"
    path.write_text(json.dumps(fixture, separators=(",", ":")) + "\n")
    print(path, path.stat().st_size, "bytes")


def run_language(model: Any, inputs: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    logits = model(inputs["tokens"]).logits
    return logits, torch.nn.functional.cross_entropy(logits.flatten(0, 1), inputs["targets"].flatten())


def run_vision(model: Any, inputs: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    logits = model(inputs["images"]).logits
    return logits, torch.nn.functional.cross_entropy(logits, inputs["targets"])


def main() -> None:
    torch.manual_seed(15)
    vocabulary, time = 23, 7
    text = {name: torch.randint(vocabulary, (2, time)) for name in ("tokens", "targets")}

    shape = {"vocabulary": vocabulary, "context": 9, "layers": 2, "width": 12, "heads": 3, "mlp_width": 20}
    gpt2 = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=vocabulary,
            n_positions=9,
            n_embd=12,
            n_layer=2,
            n_head=3,
            n_inner=20,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
        )
    )
    write("gpt2", gpt2, gpt2_names, shape | {"key_value_heads": 3}, text, run_language)

    qwen3 = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=vocabulary,
            hidden_size=12,
            intermediate_size=20,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=6,
            max_position_embeddings=9,
            rms_norm_eps=1e-6,
            rope_parameters={"rope_type": "default", "rope_theta": 1e6},
            tie_word_embeddings=True,
        )
    )
    write("qwen3", qwen3, qwen3_names, shape | {"heads": 4, "key_value_heads": 2, "head_width": 6}, text, run_language)

    vit = ViTForImageClassification(
        ViTConfig(
            image_size=6,
            patch_size=2,
            num_channels=3,
            hidden_size=12,
            num_hidden_layers=2,
            num_attention_heads=3,
            intermediate_size=20,
            num_labels=5,
            layer_norm_eps=1e-6,
            hidden_act="gelu",
        )
    )
    images = {"images": torch.randn(2, 3, 6, 6).mul(1e3).round().div(1e3).double(), "targets": torch.tensor([3, 1])}
    shape = {"image_size": 6, "channels": 3, "patch": 2, "layers": 2, "width": 12, "heads": 3, "mlp_width": 20}
    write("vit", vit, vit_names, shape | {"classes": 5}, images, run_vision)


if __name__ == "__main__":
    main()
