"""A BERT sentence encoder run by onnxruntime, without torch.

The graph is built in memory from the model's own weights: nothing is exported, converted or cached, and the first
query of a process waits for tenths of a second instead of for torch. It computes what sentence-transformers computes,
in float32, so that vectors of either can stand in one index. `scripts/bench/embedding.py` measures both; 8-bit weights
were measured too, and change which passages are found.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_local.errors import ModelError
from atomr_local.indexing.embedding_onnx import FLOAT32, FUSED, INT32, Graph

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Tokens of a batch, padding included: more gain nothing and take memory.
_BATCH_TOKENS = 2048
# onnxruntime's threads spin between the steps of a run; longer than this another busy process pays for it.
_SPIN_MICROSECONDS = 1000
_CONFIG_BYTES = 1 << 20
_LAYERS, _WIDTH = 64, 8192
_MODULES = (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
_LIBRARY = "sentence_transformers."
_TELEMETRY_SINCE = (1, 31)


class Unsuited(Exception):
    """The model is of a kind that only sentence-transformers runs, or onnxruntime is not installed."""


@dataclass(frozen=True)
class BertShape:
    """What the configuration files say of a sentence encoder, checked.

    Attributes:
        longest: tokens of a text that are read; the rest is cut, as sentence-transformers does.
        pooling: how the tokens' vectors become one.
    """

    layers: int
    heads: int
    width: int
    epsilon: float
    longest: int
    pooling: str


def read_shape(directory: Path) -> BertShape:
    """The shape of the model in `directory`.

    Raises:
        Unsuited: it is no BERT encoder of the plain kind, or its files cannot be read.
    """
    config, modules = _json(directory / "config.json"), _json(directory / "modules.json")
    sentence, told = _json(directory / "sentence_bert_config.json"), directory / "config_sentence_transformers.json"
    if not isinstance(config, dict) or not isinstance(modules, list) or not isinstance(sentence, dict):
        raise Unsuited("its configuration is of another form")
    names = [str(module.get("type", "")) if isinstance(module, dict) else "" for module in modules]
    if [name.rpartition(".")[2] for name in names] not in _MODULES or not all(n.startswith(_LIBRARY) for n in names):
        raise Unsuited("it is put together from other modules")
    prompt = _json(told) if told.is_file() else {}
    plain = (
        config.get("model_type") == "bert"
        and config.get("hidden_act") == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and not sentence.keys() - {"max_seq_length", "do_lower_case"}
        and not sentence.get("do_lower_case")
        and modules[0].get("path") == ""
        and isinstance(prompt, dict)
        and not prompt.get("default_prompt_name")
    )
    if not plain:
        raise Unsuited("it is not a plain BERT encoder")
    positions = _whole(config, "max_position_embeddings", _WIDTH)
    longest = _whole(sentence, "max_seq_length", positions)
    width, heads = _whole(config, "hidden_size", _WIDTH), _whole(config, "num_attention_heads", _WIDTH)
    epsilon = config.get("layer_norm_eps")
    if width % heads or not isinstance(epsilon, float) or not 0 < epsilon < 1:
        raise Unsuited("its sizes do not fit each other")
    place = str(modules[1].get("path", ""))
    if place not in {"1_Pooling", "pooling"}:
        raise Unsuited("its pooling is elsewhere")
    pooling = _pooling(_json(directory / place / "config.json"))
    return BertShape(_whole(config, "num_hidden_layers", _LAYERS), heads, width, epsilon, longest, pooling)


def _json(file: Path) -> Any:
    try:
        with file.open("rb") as stream:
            return json.loads(stream.read(_CONFIG_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise Unsuited(f"{file.name} cannot be read: {error}") from error


def _whole(values: dict[str, Any], key: str, most: int) -> int:
    value = values.get(key)
    if type(value) is not int or not 0 < value <= most:
        raise Unsuited(f"{key} is {value!r}")
    return value


def _pooling(config: Any) -> str:
    if not isinstance(config, dict):
        raise Unsuited("its pooling is of another form")
    modes = {key.removeprefix("pooling_mode_") for key, on in config.items() if key.startswith("pooling_mode_") and on}
    if isinstance(named := config.get("pooling_mode"), str):
        modes = {named}
    for mode, keys in {"mean": {"mean_tokens", "mean"}, "cls": {"cls_token", "cls"}}.items():
        if len(modes) == 1 and modes <= keys:
            return mode
    raise Unsuited("it pools in another way")


def read_weights(file: Path) -> dict[str, NDArray[np.float32]]:
    """The arrays of a safetensors file that hold float32 numbers.

    Raises:
        ModelError: the file is damaged.
        Unsuited: its numbers are of another kind.
    """
    import numpy as np
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(file), framework="numpy") as tensors:
            kinds = {name: tensors.get_slice(name).get_dtype() for name in tensors.keys()}  # noqa: SIM118
            if not set(kinds.values()) <= {"F32", "I64"}:
                raise Unsuited("its weights are not float32")
            found = {name: tensors.get_tensor(name) for name, kind in kinds.items() if kind == "F32"}
    except FileNotFoundError as error:
        raise Unsuited(f"it has no {file.name}") from error
    except (SafetensorError, OSError) as error:
        raise ModelError(
            f"the embedder in {file.parent} cannot be loaded: {file.name} is damaged ({error})",
            hint="Check that its files are whole.",
        ) from error
    # A model saved with a head on top keeps the encoder's arrays under a prefix.
    return {name.removeprefix("bert."): np.asarray(values, dtype=np.float32) for name, values in found.items()}


def build_graph(shape: BertShape, weights: dict[str, NDArray[np.float32]]) -> tuple[bytes, dict[str, Any]]:
    """The encoder (Devlin et al. 2019, section 3) as an ONNX model, and the arrays that it refers to.

    Inputs: `embedded`, float32 (texts, tokens, width), the sums of the three embeddings; `lengths`, int32 (texts,),
    how many tokens of each row are no padding. Output: `hidden`, float32 (texts, tokens, width).
    """
    import numpy as np

    graph = Graph()

    def known(name: str) -> str:
        return graph.constant(name, weights[name])

    def dense(values: str, name: str) -> str:
        return graph.node("MatMul", [values, graph.constant(f"{name}.weight", weights[f"{name}.weight"].T)])

    norm = [known(f"embeddings.LayerNorm.{part}") for part in ("weight", "bias")]
    values = graph.node("LayerNormalization", ["embedded", *norm], epsilon=shape.epsilon, axis=-1)
    for layer in range(shape.layers):
        at = f"encoder.layer.{layer}"
        joined = [
            np.concatenate([weights[f"{at}.attention.self.{name}.{part}"] for name in ("query", "key", "value")])
            for part in ("weight", "bias")
        ]
        attention = [graph.constant(f"{at}.qkv.weight", joined[0].T), graph.constant(f"{at}.qkv.bias", joined[1])]
        mixed = graph.node("Attention", [values, *attention, "lengths"], domain=FUSED, num_heads=shape.heads)
        for block in ("attention.output", "output"):
            if block == "output":
                wide = dense(values, f"{at}.intermediate.dense")
                mixed = graph.node("BiasGelu", [wide, known(f"{at}.intermediate.dense.bias")], domain=FUSED)
            ends = "hidden" if block == "output" and layer == shape.layers - 1 else ""
            norm = [known(f"{at}.{block}.{part}") for part in ("LayerNorm.weight", "LayerNorm.bias", "dense.bias")]
            added = [dense(mixed, f"{at}.{block}.dense"), values, *norm]
            values = graph.node("SkipLayerNormalization", added, domain=FUSED, out=ends, epsilon=shape.epsilon)
    sized: tuple[str | int, ...] = ("texts", "tokens", shape.width)
    model = graph.model({"embedded": (FLOAT32, sized), "lengths": (INT32, ("texts",))}, {"hidden": (FLOAT32, sized)})
    return model, dict(graph.arrays)


class BertEncoder:
    """A loaded encoder. Thread-safe.

    Args:
        threads: that compute.

    Raises:
        Unsuited: sentence-transformers is needed for this model.
        ModelError: the weights are damaged.
        Exception: what onnxruntime or tokenizers raise for a model that they do not take; they have no common base.
    """

    def __init__(self, directory: Path, threads: int) -> None:
        shape = read_shape(directory)
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        _refuse_telemetry()
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise Unsuited(str(error)) from error
        weights = read_weights(directory / "model.safetensors")
        self._tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(shape.longest)
        self._shape = shape
        self._words = weights["embeddings.word_embeddings.weight"]
        # Every text is of the first kind: the second is for pairs.
        kind = weights["embeddings.token_type_embeddings.weight"][0]
        self._places = weights["embeddings.position_embeddings.weight"][: shape.longest] + kind
        if self._tokenizer.get_vocab_size() > len(self._words) or len(self._places) < shape.longest:
            raise Unsuited("its tokenizer does not fit its weights")
        model, arrays = build_graph(shape, weights)
        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.enable_mem_pattern = False  # it keeps a plan of the memory for every shape of batch
        options.add_session_config_entry("session.intra_op.spin_duration_us", str(_SPIN_MICROSECONDS))
        # The session reads the arrays where they lie: they must live as long as it.
        self._arrays = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in arrays.items()}
        options.add_external_initializers(list(self._arrays), list(self._arrays.values()))
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.encode(["."])  # sizes that do not fit each other show when it runs
        self.backend = f"onnxruntime {onnxruntime.__version__} float32"

    @property
    def dimensions(self) -> int:
        return self._shape.width

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), dimensions), in the order of the texts."""
        import numpy as np

        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        vectors = np.empty((len(tokens), self.dimensions), dtype=np.float32)
        for batch in _batches([len(ids) for ids in tokens]):
            vectors[batch] = self._run([tokens[i] for i in batch])
        return vectors

    def _run(self, tokens: list[list[int]]) -> NDArray[np.float32]:
        import numpy as np

        lengths = np.array([len(ids) for ids in tokens], dtype=np.int32)
        padded = np.zeros((len(tokens), int(lengths.max())), dtype=np.int64)
        for row, ids in enumerate(tokens):
            padded[row, : len(ids)] = ids
        embedded = self._words[padded]
        embedded += self._places[: padded.shape[1]]
        (hidden,) = self._session.run(["hidden"], {"embedded": embedded, "lengths": lengths})
        if self._shape.pooling == "cls":
            pooled = hidden[:, 0]
        else:
            real = np.arange(padded.shape[1]) < lengths[:, None]
            pooled = np.einsum("btw,bt->bw", hidden, real.astype(np.float32)) / lengths[:, None]
        vectors: NDArray[np.float32] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True).clip(1e-12)
        return vectors


def _refuse_telemetry() -> None:
    """From 1.31 on onnxruntime opens a socket of its own for telemetry, whatever it is told: offline means offline.

    Raises:
        Unsuited: such a version is installed.
    """
    try:
        version = metadata.version("onnxruntime")
    except metadata.PackageNotFoundError:
        return
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) >= _TELEMETRY_SINCE:
        raise Unsuited(f"onnxruntime {version} opens network sockets; a version below 1.31 is wanted")


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Which texts are computed together: those of like length, which pad each other least, up to a bound."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    while order:
        size = max(1, _BATCH_TOKENS // lengths[order[0]])
        yield order[:size]
        order = order[size:]
