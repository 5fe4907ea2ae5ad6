"""The hostile models and adapters that `scripts/hostile_models.py` runs the program on."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from dataclasses import replace

from hostile_gguf import (
    BOOL,
    F32,
    FLOATS,
    INTEGERS,
    U32,
    U64,
    Case,
    File,
    Tensor,
    Value,
    adapter,
    f32,
    model,
    numbers,
    other_types,
    text,
    texts,
    u32,
)

ARCHITECTURES = """
clip llama4 deci falcon grok gpt2 gptj gptneox mpt baichuan starcoder refact bert modern-bert nomic-bert neo-bert
jina-bert-v2 eurobert bloom stablelm qwen qwen2 qwen2moe qwen2vl qwen3 qwen3moe qwen3next qwen3vl qwen35 phi2 phi3
phimoe plamo plamo2 plamo3 codeshell orion internlm2 minicpm minicpm3 gemma gemma2 gemma3 gemma3n gemma4
gemma-embedding starcoder2 mamba mamba2 jamba falcon-h1 xverse command-r cohere2 dbrx olmo olmo2 olmoe openelm
arctic deepseek deepseek2 deepseek32 deepseek4 chatglm glm4 glm4moe bitnet t5 t5encoder jais nemotron nemotron_h
exaone exaone4 rwkv6 rwkv7 arwkv7 granite granitehybrid chameleon wavtokenizer-dec plm bailingmoe dots1 arcee afmoe
ernie4_5 hunyuan-moe hunyuan-dense smollm3 gpt-oss lfm2 dream llada seed_oss grovemoe apertus minimax-m2 cogvlm rnd1
pangu-embedded mistral3 mimo2 eagle3 dflash llama-embed kimi-linear no-such-thing
""".split()  # noqa: SIM905

TEMPLATES = {
    "endless loop": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}x",
    "endless loops, deep": "{% for a in range(99999) %}" * 8 + "{% endfor %}" * 8,
    "huge text": "{{ 'a' * 10 ** 11 }}",
    "huge number": "{{ 2 ** 10 ** 10 }}",
    "huge list": "{{ [0] * 10 ** 11 }}",
    "huge format": "{{ '%099999999999d' % 1 }}",
    "huge centre": "{{ 'a'.center(10 ** 11) }}",
    "huge output": "{% for a in range(99999) %}{% for b in range(99999) %}aaaaaaaaaaaaaaaa{% endfor %}{% endfor %}",
    "doubling": "{% set ns = namespace(x='a') %}{% for a in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    "lorem": "{{ lipsum(n=10 ** 8) }}",
    "recursion": "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}",
    "attributes": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "globals": "{{ lipsum.__globals__['os'].system('touch /tmp/pwned') }}",
    "cycler": "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "init": "{{ raise_exception.__globals__ }}",
    "format attribute": "{{ '{0.__class__}'.format(messages) }}",
    "syntax": "{% for %}",
    "never closed": "{% for m in messages %}",
    "deep nesting": "{{" + "(" * 3000 + "1" + ")" * 3000 + "}}",
    "deep blocks": "{% if true %}" * 300 + "x" + "{% endif %}" * 300,
    "raises": "{{ raise_exception('no') }}",
    "divides by zero": "{{ 1 // 0 }}",
    "says nothing": "",
    "leaves messages out": "hello",
    "repeats messages": "{% for a in range(200) %}{% for m in messages %}{{ m.content }}{% endfor %}{% endfor %}",
    "include": "{% include '/etc/passwd' %}",
    "import": "{% import 'os' as os %}{{ os }}",
    "no bytes": "\x00\x01\x02",
    "only markers": "{% for m in messages %}{{ m.content }}{{ '<|im_end|>' * 5000 }}{% endfor %}",
    "long": "{# " + "x" * 5_000_000 + " #}{% for m in messages %}{{ m.content }}{% endfor %}",
}

HOSTILE_KEYS = (
    *(
        (f"llama.{key}", u32(number))
        for key in (
            "attention.key_length",
            "attention.value_length",
            "attention.sliding_window",
            "expert_count",
            "expert_used_count",
            "expert_group_count",
            "expert_group_used_count",
            "expert_shared_count",
            "expert_feed_forward_length",
            "expert_shared_feed_forward_length",
            "rope.scaling.original_context_length",
            "rope.dimension_count_swa",
            "attention.key_length_swa",
            "nextn_predict_layers",
            "pooling_type",
            "embedding_length_out",
            "ssm.conv_kernel",
            "leading_dense_block_count",
            "interleave_moe_layer_step",
            "vocab_size",
            "attention.kv_lora_rank",
        )
        for number in (0, 1, 3, 513, (1 << 31) - 1, (1 << 32) - 1)
    ),
    *(
        (f"llama.{key}", f32(number))
        for key in (
            "rope.scaling.factor",
            "rope.scale_linear",
            "rope.scaling.attn_factor",
            "rope.scaling.yarn_log_multiplier",
            "attention.layer_norm_epsilon",
            "attention.scale",
            "logit_scale",
            "attention.max_alibi_bias",
            "attention.clamp_kqv",
            "expert_weights_scale",
            "rope.freq_base_swa",
            "embedding_scale",
            "residual_scale",
            "final_logit_softcapping",
            "attn_logit_softcapping",
            "router_logit_softcapping",
        )
        for number in (float("nan"), float("inf"), -1.0, 0.0)
    ),
    *(("llama.rope.scaling.type", text(name)) for name in ("none", "linear", "yarn", "longrope", "evil", "", b"\xff")),
    *(
        ("llama.rope.dimension_sections", numbers(list(items)))
        for items in ((), (1,), (-1, 1 << 30, 5, 5), (8, 8, 8, 8))
    ),
    *(
        ("llama.attention.head_count", numbers(list(items), U32))
        for items in ((), (4,), (4, 0), (0, 0), (4, 1 << 31), (4, 3))
    ),
    *(
        ("llama.attention.head_count_kv", numbers(list(items), U32))
        for items in ((), (2,), (2, 0), (3, 2), (2, 1 << 31))
    ),
    *(
        ("llama.feed_forward_length", numbers(list(items), U32))
        for items in ((96,), (96, 0), (96, 1 << 31), (1,) * 600)
    ),
    ("llama.attention.sliding_window_pattern", numbers([1, 0], BOOL)),
    ("llama.attention.causal", Value(BOOL, 0)),
    ("split.count", Value(2, 2)),
    ("split.count", Value(2, 65535)),
    ("split.no", Value(2, 7)),
    ("split.tensors.count", Value(5, -1)),
    *(("general.alignment", u32(number)) for number in (0, 1, 3, 8, 64, 1 << 20, 1 << 31)),
    ("general.alignment", Value(U64, 32)),
    ("general.type", u32(3)),
    ("general.type", text("mmproj")),
    ("general.name", u32(5)),
    ("general.name", text("\x1b[2J\x1b]0;x\x07")),
    ("general.name", text("n" * 5_000_000)),
    ("general.architecture", u32(1)),
    ("general.architecture", text("llama\x00x")),
    ("general.architecture", text("%s%n%s%n")),
    ("general.file_type", u32(4_000_000_000)),
    ("general.file_type", text("Q4")),
    *(
        (f"tokenizer.ggml.{name}_token_id", u32(number))
        for name in ("bos", "eos", "eot", "eom", "unknown", "padding", "seperator", "fim_pre")
        for number in (4_000_000, (1 << 31) - 1, (1 << 32) - 1)
    ),
    ("tokenizer.ggml.add_bos_token", Value(BOOL, 1)),
    ("tokenizer.ggml.add_eos_token", Value(BOOL, 1)),
    ("tokenizer.ggml.add_bos_token", text("x")),
    ("tokenizer.ggml.add_space_prefix", Value(BOOL, 1)),
    ("tokenizer.ggml.remove_extra_whitespaces", Value(BOOL, 1)),
    *(
        ("tokenizer.ggml.pre", text(name))
        for name in (
            "",
            "default",
            "llama3",
            "evil",
            "gpt-4o",
            "qwen2",
            "kimi-k2",
            "deepseek-llm",
            "falcon",
            "gemma4",
            "superbpe",
        )
    ),
    *(
        ("tokenizer.ggml.model", text(name))
        for name in (
            "",
            "none",
            "no_vocab",
            "llama",
            "bert",
            "t5",
            "rwkv",
            "plamo2",
            "test",
            "gemma4",
            "hybriddna",
            "whitespace",
            "evil",
        )
    ),
    ("tokenizer.ggml.token_type_count", u32((1 << 32) - 1)),
    ("tokenizer.ggml.precompiled_charsmap", numbers([1, 2, 3, 4, 5], 0)),
    ("tokenizer.ggml.suppress_tokens", numbers([-1, 1 << 30])),
    ("tokenizer.ggml.suppress_tokens", numbers(list(range(263)))),
)


def token_cases(base: File) -> Iterator[tuple[str, File]]:
    tokens = list(base.values["tokenizer.ggml.tokens"].content)
    count = len(tokens)
    lists: dict[str, list[str] | list[bytes]] = {
        "twice the same": [*tokens[:-1], tokens[10]],
        "all the same": ["a"] * count,
        "all empty": [""] * count,
        "none": [],
        "one fewer": tokens[:-1],
        "one more": [*tokens, "more"],
        "no text": [b"\xff\xfe\x80" + bytes([n % 256, n // 256]) for n in range(count)],
        "one of a megabyte": [*tokens[:-1], "a" * 1_000_000],
        "null bytes": ["\0" * (n + 1) for n in range(count)],
        "empty and its stand-in": [*tokens[:-2], "", f"[EMPTY_{count - 2}]"],
        "words without bytes": [f"w{n}" for n in range(count)],
        "markers": [f"<|im_end|>{n}" for n in range(count)],
        "white space": [" " * (n + 1) for n in range(count)],
        "all are controls": [f"<|c{n}|>" for n in range(count)],
        "broken byte tokens": [f"<0x{n:02X}" for n in range(count)],
    }
    for name, items in lists.items():
        yield f"tokens: {name}", base.put("tokenizer.ggml.tokens", texts(items))
    for name, types in {
        "all bytes": [6] * count,
        "all control": [3] * count,
        "all unknown": [2] * count,
        "all unused": [5] * count,
        "no such type": [99] * count,
        "negative": [-1] * count,
        "too few": [1],
        "none": [],
        "all user defined": [4] * count,
    }.items():
        yield f"token types: {name}", base.put("tokenizer.ggml.token_type", numbers(types))
    for name, scores in {
        "too few": [0.0],
        "no numbers": [float("nan")] * count,
        "infinite": [float("inf")] * count,
    }.items():
        yield f"scores: {name}", base.put("tokenizer.ggml.scores", numbers(scores, F32))
    ranks: dict[str, list[str] | list[bytes]] = {
        "none": [],
        "empty": [""] * 5,
        "no pair": ["ab", " ", "  "],
        "unknown": ["zz yy"],
        "no text": [b"\xff \xfe"],
        "many": ["a b"] * 100_000,
        "long": ["a " + "b" * 1_000_000],
    }
    for name, merges in ranks.items():
        yield f"merges: {name}", base.put("tokenizer.ggml.merges", texts(merges))
    yield "merges: numbers", base.put("tokenizer.ggml.merges", numbers([1, 2]))
    yield "tokens: numbers", base.put("tokenizer.ggml.tokens", numbers([1] * count))
    yield "tokens: a text", base.put("tokenizer.ggml.tokens", text("abc"))
    yield "token types: bytes", base.put("tokenizer.ggml.token_type", numbers([1] * count, 0))


def header_cases(base: File, random_: random.Random) -> Iterator[tuple[str, File]]:
    for key, value in base.values.items():
        if value.kind == U32:
            yield from ((f"{key} = {number}", base.put(key, u32(number))) for number in INTEGERS)
        if value.kind == F32:
            yield from ((f"{key} = {number}", base.put(key, f32(number))) for number in FLOATS)
        yield f"without {key}", base.put(key, None)
        yield f"{key} twice", replace(base, again=(key,))
        yield from ((f"{key}: {name}", base.put(key, other)) for name, other in random_.sample(list(other_types()), 6))
    for key, value in HOSTILE_KEYS:
        yield f"{key} is {str(value.content)[:40]} of type {value.kind}", base.put(key, value)
    for architecture in ARCHITECTURES:
        values = {
            key.replace("llama.", f"{architecture}.", 1) if key.startswith("llama.") else key: value
            for key, value in base.values.items()
        }
        values["general.architecture"] = text(architecture)
        values[f"{architecture}.attention.layer_norm_epsilon"] = f32(1e-5)
        yield f"as {architecture}", replace(base, values=values)
    for version in (0, 1, 2, 4, 0x03000000):
        yield f"version {version}", replace(base, version=version)


def tensor_cases(base: File, random_: random.Random) -> Iterator[tuple[str, File]]:
    for tensor in base.tensors:
        name, shape = tensor.name, tensor.shape
        yield f"without {name}", base.without_tensor(name)
        shapes = [
            (0,),
            (1,),
            shape[::-1],
            (*shape, 1),
            (*shape, 2),
            (shape[0] - 1, *shape[1:]),
            (*shape[:-1], shape[-1] + 1),
            (1 << 40, 1 << 40),
            (-1,),
        ]
        for other in random_.sample(shapes, 3):
            yield f"{name} of shape {other}", base.with_tensor(name, shape=other)
        for kind in random_.sample(range(46), 5):
            yield f"{name} of type {kind}", base.with_tensor(name, kind=kind, data=tensor.data * 2)
        yield (
            f"{name} of no numbers",
            base.with_tensor(name, data=struct.pack("<f", float("nan")) * (len(tensor.data) // 4)),
        )
        yield f"{name} infinite", base.with_tensor(name, data=struct.pack("<f", float("inf")) * (len(tensor.data) // 4))
        for offset in random_.sample((1, 32, 1 << 20, (1 << 63), (1 << 64) - 32), 2):
            yield f"{name} at {offset}", base.with_tensor(name, offset=offset)
    first = base.tensors[0]
    yield "a tensor twice", replace(base, tensors=(*base.tensors, first))
    yield "one tensor more", replace(base, tensors=(*base.tensors, replace(first, name="blk.7.attn_q.weight")))
    yield "a tensor without a name", replace(base, tensors=(*base.tensors, replace(first, name="")))
    yield "a tensor with a long name", replace(base, tensors=(*base.tensors, replace(first, name="n" * 64)))
    yield "no tensors", replace(base, tensors=())
    yield "output too small", replace(base, tensors=(*base.tensors, Tensor("output.weight", (64, 2), bytes(512))))
    yield "rope factors too short", replace(base, tensors=(*base.tensors, Tensor("rope_freqs.weight", (2,), bytes(8))))
    yield "rope factors zero", replace(base, tensors=(*base.tensors, Tensor("rope_freqs.weight", (8,), bytes(32))))
    yield (
        "rope factors in half",
        replace(base, tensors=(*base.tensors, Tensor("rope_freqs.weight", (8,), bytes(16), 1))),
    )


def adapter_cases() -> Iterator[tuple[str, File]]:
    base = adapter()
    first, second = base.tensors
    for key in base.values:
        yield f"without {key}", base.put(key, None)
        yield from ((f"{key}: {name}", base.put(key, other)) for name, other in other_types())
    yield from ((f"alpha {number}", base.put("adapter.lora.alpha", f32(number))) for number in FLOATS)
    yield "aLoRA", base.put("adapter.alora.invocation_tokens", numbers([1 << 31, 5], U32))
    yield "aLoRA of texts", base.put("adapter.alora.invocation_tokens", texts(["a"]))
    for side, tensor in (("a", first), ("b", second)):
        yield f"without lora_{side}", base.without_tensor(tensor.name)
        for shape in ((64,), (4,), (64, 5), (5, 64), (64, 4, 2), (64, 4, 1, 3), (4, 64), (0, 4), (64, 0), (1, 1)):
            data = tensor.data * 3
            yield f"lora_{side} of shape {shape}", base.with_tensor(tensor.name, shape=shape, data=data)
        for kind in (*range(32), 34, 35, 39, 40, 41, 42, 43):
            yield f"lora_{side} of type {kind}", base.with_tensor(tensor.name, kind=kind, data=tensor.data * 2)
        yield f"lora_{side} of no numbers", base.with_tensor(tensor.name, data=struct.pack("<f", float("nan")) * 256)
        yield f"lora_{side} infinite", base.with_tensor(tensor.name, data=struct.pack("<f", float("inf")) * 256)
    wide = replace(
        base,
        tensors=(replace(first, shape=(64, 5), data=bytes(1280)), replace(second, shape=(5, 64), data=bytes(1280))),
    )
    yield "rank 5", wide
    for name in (
        "token_embd.weight",
        "output_norm.weight",
        "blk.0.attn_norm.weight",
        "blk.9.attn_q.weight",
        "output.weight",
        "blk.0.attn_q.weight",
    ):
        yield f"for {name}", adapter(name)
    size = len(model().values["tokenizer.ggml.tokens"].content)
    for rank_a, rank_b in ((4, 4), (4, 8)):
        pair = (
            Tensor("token_embd.weight.lora_a", (rank_a, size), bytes(4 * rank_a * size)),
            Tensor("token_embd.weight.lora_b", (rank_b, 64), bytes(4 * rank_b * 64)),
        )
        yield f"embedding, ranks {rank_a} and {rank_b}", replace(base, tensors=pair)
    yield (
        "a tensor of no pair",
        replace(base, tensors=(*base.tensors, Tensor("blk.0.attn_output.weight", (64, 64), bytes(16384)))),
    )
    yield "a norm", replace(base, tensors=(*base.tensors, Tensor("blk.0.attn_norm.weight", (64,), bytes(256))))


def damaged(content: bytes, random_: random.Random, header: int) -> bytes:
    """Some bits, bytes or blocks of the header other than they were, or an end cut off."""
    data = bytearray(content)
    kind = random_.randrange(5)
    for _ in range((1, 1, 4, 30, 1)[kind]):
        at = random_.randrange(4, header)
        if kind == 0:
            data[at] ^= 1 << random_.randrange(8)
        elif kind == 4:
            del data[at:]
            return bytes(data)
        else:
            number = random_.choice((0, 1, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF, random_.getrandbits(32)))
            data[at : at + 4] = struct.pack("<I", number)
    return bytes(data)


def cases(seed: int = 0) -> Iterator[Case]:
    """All of them, in an order that does not change."""
    random_ = random.Random(seed)
    plain, spoken = model(), model(tokenizer="llama")
    bases = {
        "gpt2": plain,
        "spm": spoken,
        "qwen2": model("qwen2"),
        "qwen3": model("qwen3"),
        "experts": model(experts=4),
    }
    for name, base in bases.items():
        yield Case(f"{name}: as it should be", base.encode(), tags=frozenset({"sound"}))
    yield Case("adapter: as it should be", plain.encode(), adapter().encode(), frozenset({"sound"}))
    for name, file in header_cases(plain, random_):
        yield Case(name, file.encode())
    for name, file in tensor_cases(plain, random_):
        yield Case(name, file.encode())
    for label, base in (("gpt2", plain), ("spm", spoken)):
        for name, file in token_cases(base):
            yield Case(f"{label} {name}", file.encode())
    for name, template in TEMPLATES.items():
        yield Case(f"template: {name}", plain.put("tokenizer.chat_template", text(template)).encode())
    experts = bases["experts"]
    for key in ("llama.expert_count", "llama.expert_used_count"):
        for number in INTEGERS:
            yield Case(f"experts {key} = {number}", experts.put(key, u32(number)).encode())
    for name in ("qwen2", "qwen3"):
        for file_name, file in random_.sample(list(tensor_cases(bases[name], random_)), 30):
            yield Case(f"{name} {file_name}", file.encode())
    for name, file in adapter_cases():
        yield Case(f"adapter {name}", plain.encode(), file.encode())
    for label, base in bases.items():
        content = base.encode()
        header = len(content) - sum(-(-len(tensor.data) // 32) * 32 for tensor in base.tensors)
        for number in range(40):
            yield Case(f"{label} damaged {number}", damaged(content, random_, header))
    content = adapter().encode()
    for number in range(60):
        yield Case(f"adapter damaged {number}", plain.encode(), damaged(content, random_, len(content) - 2048))
