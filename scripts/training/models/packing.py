"""Pack training data, a base and an adapter into arrays that `train_large_batches.py` reads without other packages.

    scripts/pack_training_data.py --data A.jsonl B.jsonl:0.5 --out tokens.npz --weights base.npz \
        --adapter models/adapters/smollm2-135m-atomr.gguf --init init.npz
    scripts/pack_training_data.py --run RUN --export models/adapters/NAME.gguf --kind Q8_0

Token ids in 16 bits, and a bit for each that is learnt; a line that stands twice is packed once. The base's tensors
stay in the GGUF's blocks (Q4_1 and Q8_0), so that they are as small as there. `--export` writes a run as GGUF.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from training.models.adapter import encode
from training.models.adapter_file import GGUF_NAMES, adapter_state, base_arguments, permuted, unpermuted, write_adapter

_NORMS = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
_PROJECTIONS = {gguf_name: name for name, gguf_name in GGUF_NAMES.items()}
_BLOCK = 32


def pack_tokens(files: list[str], base: str, longest: int, out: Path, seed: int) -> None:
    """Args:
    files: each a path, or a path and the share of its lines to keep after a colon.
    """
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(**base_arguments(base))
    source, seen = random.Random(seed), set[str]()
    records: list[dict[str, Any]] = []
    for name in files:
        path, _, share = name.partition(":")
        for text in Path(path).read_text("utf-8").splitlines():
            if text not in seen and source.random() < float(share or 1):
                seen.add(text)
                records.append(json.loads(text))
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        by_kind.setdefault(f"{record['task'].split(':')[0]} {record['source'].split(':')[0]}", []).append(record)
    names = list(by_kind)
    ids, learnt, ends, task = [], [], [0], []
    for number, name in enumerate(names):
        for tokens, wanted in encode(tokenizer, by_kind[name], longest, quiet=True):
            ids.append(np.array(tokens, np.uint16))
            learnt.append(np.array(wanted, bool))
            ends.append(ends[-1] + len(tokens))
            task.append(number)
    np.savez_compressed(
        out, ids=np.concatenate(ids), learnt=np.packbits(np.concatenate(learnt)), ends=np.array(ends, np.int64),
        task=np.array(task, np.int16), names=np.array(names),
    )  # fmt: skip
    counted = Counter(names[i] for i in task)
    print(f"{len(task)} of {len(records)} examples, {ends[-1]} tokens: {dict(counted.most_common())}")


def pack_base(base: str, out: Path) -> None:
    from gguf import GGMLQuantizationType, GGUFReader

    where = base_arguments(base)
    if "gguf_file" not in where:
        raise SystemExit(f"{base}: only a GGUF file can be packed")
    reader = GGUFReader(str(Path(where["pretrained_model_name_or_path"]) / where["gguf_file"]))

    def field(name: str) -> Any:
        return reader.fields[f"llama.{name}"].contents()

    heads, key_heads = int(field("attention.head_count")), int(field("attention.head_count_kv"))
    arrays: dict[str, Any] = {}
    names = []
    for tensor in reader.tensors:
        name, projection = _plain_name(tensor.name)
        names.append(name)
        rows = {"q_proj": heads, "k_proj": key_heads}.get(projection, 0)
        if tensor.tensor_type == GGMLQuantizationType.F32:
            arrays[name] = np.array(tensor.data)
            continue
        columns, count = (int(size) for size in tensor.shape)
        raw = np.array(tensor.data).view(np.uint8).reshape(count, columns // _BLOCK, -1)
        if rows:
            import torch

            raw = unpermuted(torch.from_numpy(raw), rows).numpy()
        arrays[f"{name}.shape"] = np.array([count, columns])
        arrays[f"{name}.d"] = np.ascontiguousarray(raw[..., :2]).view(np.float16)
        if tensor.tensor_type == GGMLQuantizationType.Q4_1:
            arrays[f"{name}.m"] = np.ascontiguousarray(raw[..., 2:4]).view(np.float16)
            arrays[f"{name}.q"] = np.ascontiguousarray(raw[..., 4:])
        elif tensor.tensor_type == GGMLQuantizationType.Q8_0:
            arrays[f"{name}.q"] = np.ascontiguousarray(raw[..., 2:]).view(np.int8)
        else:
            raise SystemExit(f"{tensor.name}: {tensor.tensor_type.name} cannot be packed")
    shape = {
        "layers": int(field("block_count")), "heads": heads, "key_heads": key_heads,
        "size": int(field("embedding_length")) // heads, "rope": float(field("rope.freq_base")),
        "epsilon": float(field("attention.layer_norm_rms_epsilon")), "tensors": names,
    }  # fmt: skip
    np.savez(out, shape=np.array(json.dumps(shape)), **arrays)
    print(f"{out}: {out.stat().st_size / 1e6:.1f} MB")


def _plain_name(name: str) -> tuple[str, str]:
    """A tensor's name in Hugging Face's Llama, and its projection or ""."""
    if name in {"token_embd.weight", "output_norm.weight"}:
        return {"token_embd.weight": "embed_tokens.weight", "output_norm.weight": "norm.weight"}[name], ""
    _, layer, part, _ = name.split(".")
    if part in _NORMS:
        return f"layers.{layer}.{_NORMS[part]}.weight", ""
    projection = _PROJECTIONS[part]
    block = "mlp" if part.startswith("ffn") else "self_attn"
    return f"layers.{layer}.{block}.{projection}.weight", projection


def pack_adapter(adapter: Path, out: Path, heads: tuple[int, int]) -> None:
    state, scale = adapter_state(adapter, heads)
    arrays = {}
    for name, weight in state.items():
        parts = name.split(".")
        side = "down" if "lora_A" in name else "up"
        arrays[f"{parts[-3]}_{parts[parts.index('layers') + 1]}.{side}"] = weight.numpy().astype(np.float16)
    np.savez(out, scale=scale, **arrays)
    print(f"{out}: {len(arrays)} matrices, scale {scale}")


def export_run(run: Path, out: Path, base: str, kind: str) -> None:
    """The run's matrices as a GGUF adapter.

    Args:
        kind: "F16" or "Q8_0".
    """
    weights: dict[str, Any] = {}
    scale = 1.0
    for path in sorted(run.glob("adapter-*.npz")):
        with np.load(path) as stored:
            scale = float(stored["scale"])
            weights.update({name: stored[name].astype(np.float32) for name in stored.files if name != "scale"})
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(**base_arguments(base))
    found = {}
    for name, weight in weights.items():
        where, side = name.split(".")
        projection, layer = where.rsplit("_", 1)
        of = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
        heads = of.get(projection, 0) if side == "up" else 0
        letter = "a" if side == "down" else "b"
        ordered = permuted(weight, heads) if heads else weight
        found[f"blk.{layer}.{GGUF_NAMES[projection]}.weight.lora_{letter}"] = ordered
    rank = next(weight.shape[0] for name, weight in found.items() if name.endswith("lora_a"))
    write_adapter(out, found, alpha=scale * rank, kind=kind)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default="starter")
    parser.add_argument("--data", nargs="*", default=[], help="files of examples, each with :SHARE if wanted")
    parser.add_argument("--out", type=Path, help="the packed examples")
    parser.add_argument("--weights", type=Path, help="the packed base")
    parser.add_argument("--adapter", type=Path, help="an adapter to begin with, as GGUF")
    parser.add_argument("--init", type=Path, help="that adapter, packed")
    parser.add_argument("--heads", type=int, nargs=2, default=(9, 3), help="attention heads for queries and for keys")
    parser.add_argument("--longest", type=int, default=1024, help="tokens; longer examples are left out")
    parser.add_argument("--run", type=Path, help="of train_large_batches.py")
    parser.add_argument("--export", type=Path, help="write the run's adapter as GGUF")
    parser.add_argument("--kind", choices=("F16", "Q8_0"), default="F16")
    parser.add_argument("--seed", type=int, default=3)
    given = parser.parse_args()
    if given.export:
        export_run(given.run, given.export, given.base, given.kind)
    if given.weights:
        pack_base(given.base, given.weights)
    if given.init:
        pack_adapter(given.adapter, given.init, tuple(given.heads))
    if given.out:
        pack_tokens(given.data, given.base, given.longest, given.out, given.seed)
