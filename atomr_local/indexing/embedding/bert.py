"""BERT encoders on onnxruntime, without torch: shared by the embedder and the reranker.

The graph is built in memory from the model's own weights: nothing is exported, converted or cached, and the first
query of a process waits for tenths of a second instead of for torch. It computes in float32 what transformers computes.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from atomr_local.errors import ModelError
from atomr_local.system.files import read_regular

# Writes ONNX models from arrays.
#
# A model is one protobuf message (`onnx.proto` of the ONNX project); only the few fields that a feed-forward graph
# needs are written. Large arrays stay outside of it and are handed to onnxruntime as they lie in memory, so that
# nothing is exported to a file and no exporter is installed.

FUSED = "com.microsoft"  # the domain of onnxruntime's own fused operators
_IR_VERSION = 9
_OPERATORS = 17  # version of ONNX's operators; LayerNormalization came with it
_FLOAT, _INT = 1, 2  # AttributeProto.AttributeType
FLOAT32, INT32 = 1, 6  # TensorProto.DataType
_EXTERNAL = 1  # TensorProto.DataLocation


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _number(tag: int, value: int) -> bytes:
    # Protobuf writes a negative number as the 64 bits of its two's complement.
    return _varint(tag << 3) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def _bytes(tag: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(tag << 3 | 2) + _varint(len(data)) + data


def _attribute(name: str, value: float | int) -> bytes:
    if isinstance(value, float):
        return _bytes(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, _FLOAT)
    return _bytes(1, name) + _number(3, value) + _number(20, _INT)


def _value(name: str, kind: int, shape: tuple[str | int, ...]) -> bytes:
    sizes = b"".join(_bytes(1, _number(1, size) if isinstance(size, int) else _bytes(2, size)) for size in shape)
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, sizes)))


@dataclass
class OnnxGraph:
    """A graph under construction, nodes in the order in which they are computed.

    Attributes:
        arrays: name → float32 array, constants of the graph that the model refers to.
    """

    arrays: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    _nodes: list[bytes] = field(default_factory=list)

    def constant(self, name: str, values: Any) -> str:
        """Keep an array under a name that nodes can read; returns the name."""
        self.arrays[name] = np.ascontiguousarray(values, dtype=np.float32)
        return name

    def node(self, operator: str, inputs: list[str], *, domain: str = "", out: str = "", **attributes: float) -> str:
        """Add a node; returns the name of its first output."""
        out = out or f"value{len(self._nodes)}"
        parts = [*(_bytes(1, name) for name in inputs), _bytes(2, out), _bytes(4, operator), _bytes(7, domain)]
        parts += [_bytes(5, _attribute(name, value)) for name, value in attributes.items()]
        self._nodes.append(_bytes(1, b"".join(parts)))
        return out

    def model(
        self,
        inputs: dict[str, tuple[int, tuple[str | int, ...]]],
        outputs: dict[str, tuple[int, tuple[str | int, ...]]],
    ) -> bytes:
        """The model, to be given to onnxruntime together with `arrays` as its external initializers.

        Args:
            inputs, outputs: name → type (FLOAT32 or INT32) and shape, a name for each size that varies.
        """
        tensors = [
            b"".join(_number(1, size) for size in array.shape)
            + _number(2, FLOAT32)
            + _bytes(8, name)
            + _bytes(13, _bytes(1, "location") + _bytes(2, "memory"))
            + _number(14, _EXTERNAL)
            for name, array in self.arrays.items()
        ]
        graph = b"".join(
            [
                *self._nodes,
                _bytes(2, "encoder"),
                *(_bytes(5, tensor) for tensor in tensors),
                *(_bytes(11, _value(name, *described)) for name, described in inputs.items()),
                *(_bytes(12, _value(name, *described)) for name, described in outputs.items()),
            ]
        )
        versions = [_number(2, _OPERATORS), _bytes(1, FUSED) + _number(2, 1)]
        return _number(1, _IR_VERSION) + _bytes(7, graph) + b"".join(_bytes(8, version) for version in versions)


# onnxruntime's threads spin between the steps of a run; longer than this another busy process pays for it.
_SPIN_MICROSECONDS = 1000
_TELEMETRY_SINCE = (1, 31)
_CONFIG_BYTES = 1 << 20
_TABLE = "embeddings.word_embeddings.weight"
_MOST = 8192  # layers, heads, width and tokens of any encoder that this is meant for


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


def read_json(file: Path) -> Any:
    """What a configuration file holds.

    Raises:
        Unsuited: it cannot be read.
    """
    try:
        return json.loads(read_regular(file, _CONFIG_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise Unsuited(f"{file.name} cannot be read: {error}") from error


def read_object(file: Path) -> dict[str, Any]:
    """The object that a configuration file holds.

    Raises:
        Unsuited: it cannot be read, or holds something else.
    """
    found = read_json(file)
    if not isinstance(found, dict):
        raise Unsuited(f"{file.name} is of another form")
    return found


def plain_shape(config: dict[str, Any], sentence: dict[str, Any], prompts: dict[str, Any], pooling: str) -> BertShape:
    """The shape of a plain BERT encoder that reads as many tokens as it has positions.

    Args:
        config, sentence, prompts: what its files config.json, sentence_bert_config.json and
            config_sentence_transformers.json hold.

    Raises:
        Unsuited: it is of another kind, or its sizes do not fit each other.
    """
    plain = (
        config.get("model_type") == "bert"
        and config.get("hidden_act") == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and not config.get("is_decoder")
        and not sentence.keys() - {"max_seq_length", "do_lower_case"}
        and not sentence.get("do_lower_case")
        and not prompts.get("default_prompt_name")
    )
    if not plain:
        raise Unsuited("it is not a plain BERT encoder")
    layers, heads, width, positions = (
        whole(config, key, _MOST)
        for key in ("num_hidden_layers", "num_attention_heads", "hidden_size", "max_position_embeddings")
    )
    epsilon = config.get("layer_norm_eps")
    if width % heads or not isinstance(epsilon, float) or not 0 < epsilon < 1:
        raise Unsuited("its sizes do not fit each other")
    return BertShape(layers, heads, width, epsilon, positions, pooling)


def whole(values: dict[str, Any], key: str, most: int) -> int:
    """A whole number from 1 to `most`. Raises Unsuited for anything else."""
    value = values.get(key)
    if type(value) is not int or not 0 < value <= most:
        raise Unsuited(f"{key} is {value!r}")
    return value


def read_weights(file: Path) -> dict[str, NDArray[np.float32]]:
    """The arrays of a safetensors file that hold float32 numbers.

    Raises:
        ModelError: the file is damaged.
        Unsuited: its numbers are of another kind.
    """
    try:
        with safe_open(str(file), framework="numpy") as tensors:
            kinds = {name: tensors.get_slice(name).get_dtype() for name in tensors.keys()}  # noqa: SIM118
            if not set(kinds.values()) <= {"F32", "I64"}:
                raise Unsuited("its weights are not float32")
            found = {
                name: _mapped(file, name) if name.endswith(_TABLE) else tensors.get_tensor(name)
                for name, kind in kinds.items()
                if kind == "F32"
            }
    except FileNotFoundError as error:
        raise Unsuited(f"it has no {file.name}") from error
    except (SafetensorError, OSError) as error:
        raise ModelError(
            f"the embedder in {file.parent} cannot be loaded: {file.name} is damaged ({error})",
            hint="Check that its files are complete.",
        ) from error
    # A model saved with a head on top keeps the encoder's arrays under a prefix.
    return {name.removeprefix("bert."): np.asarray(values, dtype=np.float32) for name, values in found.items()}


def _mapped(file: Path, name: str) -> NDArray[np.float32]:
    """The array as it lies in the file: of a table of words only the rows that are read take memory."""
    with file.open("rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        place = json.loads(stream.read(length))[name]
    offset = 8 + length + place["data_offsets"][0]
    return np.asarray(np.memmap(file, dtype="<f4", mode="r", offset=offset, shape=tuple(place["shape"])))


class WordTable:
    """Rows of an array, read where it lies in its file.

    Pages that were read count as this process's memory, the neighbours that the system maps with them too: they are let
    go after each reading. The system keeps them cached, and takes them back when memory is short.
    """

    def __init__(self, table: NDArray[np.float32]) -> None:
        self._table = table
        base: Any = table
        while isinstance(base, np.ndarray):
            base = base.base
        self._file = base if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED") else None

    def __len__(self) -> int:
        return len(self._table)

    def rows(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """A copy of these rows."""
        found: NDArray[np.float32] = self._table[numbers]
        if self._file is not None:
            self._file.madvise(mmap.MADV_DONTNEED)
        return found


def build_graph(shape: BertShape, weights: dict[str, NDArray[np.float32]]) -> tuple[bytes, dict[str, Any]]:
    """The encoder (Devlin et al. 2019, section 3) as an ONNX model, and the arrays that it refers to.

    Inputs: `embedded`, float32 (texts, tokens, width), the sums of the three embeddings; `lengths`, int32 (texts,),
    how many tokens of each row are no padding. Output: `hidden`, float32 (texts, tokens, width).
    """
    graph = OnnxGraph()

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


class BertSession:
    """The tokenizer and the encoder of a model, loaded. Thread-safe.

    Args:
        threads: that compute.
        weights: the arrays, where they are not those of the directory's file.

    Attributes:
        tokenizer: cuts at the longest text that the shape allows, and pads nothing.
        marks: texts that the tokenizer reads as its own marks, such as [SEP].
        weights: the arrays of the model but those of its layers.
        kinds: how many kinds of texts it tells apart: two where it reads pairs.

    Raises:
        Unsuited: onnxruntime is not installed, or a version that opens sockets.
        ModelError: the weights are damaged.
        Exception: what onnxruntime or tokenizers raise for a model that they do not take; they have no common base.
    """

    def __init__(
        self,
        directory: Path,
        shape: BertShape,
        threads: int,
        weights: dict[str, NDArray[np.float32]] | None = None,
    ) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        _refuse_telemetry()
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise Unsuited(str(error)) from error
        self.weights = read_weights(directory / "model.safetensors") if weights is None else weights
        self.tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(shape.longest)
        self._words = WordTable(self.weights["embeddings.word_embeddings.weight"])
        self._places = self.weights["embeddings.position_embeddings.weight"][: shape.longest]
        self._kinds = self.weights["embeddings.token_type_embeddings.weight"]
        self.kinds = len(self._kinds)
        added = self.tokenizer.get_added_tokens_decoder().values()
        self.marks: Sequence[str] = [token.content for token in added if token.special]
        if self.tokenizer.get_vocab_size() > len(self._words) or len(self._places) < shape.longest:
            raise Unsuited("its tokenizer does not fit its weights")
        model, arrays = build_graph(shape, self.weights)
        # The session has those of the layers, as it needs them.
        self.weights = {name: array for name, array in self.weights.items() if not name.startswith("encoder.")}
        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.enable_mem_pattern = False  # it keeps a plan of the memory for every shape of batch
        options.enable_cpu_mem_arena = False  # it never gives back what the largest batch took
        options.add_session_config_entry("session.intra_op.spin_duration_us", str(_SPIN_MICROSECONDS))
        # The session reads the arrays where they lie: they must live as long as it.
        self._arrays = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in arrays.items()}
        options.add_external_initializers(list(self._arrays), list(self._arrays.values()))
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.runtime = f"onnxruntime {onnxruntime.__version__}"

    def read(self, encodings: Sequence[Any]) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """The last layer for texts, or pairs of texts, that the tokenizer has encoded, computed as one batch.

        Returns:
            The layer, shape (texts, tokens, width), and how many tokens of each text are no padding.
        """
        lengths = np.array([len(encoding.ids) for encoding in encodings], dtype=np.int32)
        tokens = np.zeros((len(encodings), int(lengths.max())), dtype=np.int64)
        kinds = np.zeros_like(tokens)
        for row, encoding in enumerate(encodings):
            tokens[row, : len(encoding.ids)] = encoding.ids
            kinds[row, : len(encoding.ids)] = encoding.type_ids
        embedded = self._words.rows(tokens)
        embedded += self._places[: tokens.shape[1]] + self._kinds[kinds if kinds.any() else 0]
        found: NDArray[np.float32] = self._session.run(["hidden"], {"embedded": embedded, "lengths": lengths})[0]
        return found, lengths


def _refuse_telemetry() -> None:
    """From 1.31 on onnxruntime opens a socket of its own for telemetry, even if told not to: offline means offline.

    Raises:
        Unsuited: such a version is installed.
    """
    try:
        version = metadata.version("onnxruntime")
    except metadata.PackageNotFoundError:
        return
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) >= _TELEMETRY_SINCE:
        raise Unsuited(f"onnxruntime {version} opens network sockets; a version below 1.31 is needed")


# A BERT sentence encoder on onnxruntime, without torch.
#
# It computes what sentence-transformers computes, in float32, so that vectors of either can stand in one index.
# `scripts/bench/embedding.py` measures both; 8-bit weights were measured too, and change which passages are found.


# Tokens of a batch, padding included: more gain nothing and take memory.
_BATCH_TOKENS = 2048
_MODULES = (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
_LIBRARY = "sentence_transformers."


def read_shape(directory: Path) -> BertShape:
    """The shape of the model in `directory`.

    Raises:
        Unsuited: it is no BERT encoder of the plain kind, or its files cannot be read.
    """
    modules, prompts = read_json(directory / "modules.json"), directory / "config_sentence_transformers.json"
    if not isinstance(modules, list):
        raise Unsuited("its configuration is of another form")
    names = [str(module.get("type", "")) if isinstance(module, dict) else "" for module in modules]
    if [name.rpartition(".")[2] for name in names] not in _MODULES or not all(n.startswith(_LIBRARY) for n in names):
        raise Unsuited("it is put together from other modules")
    place = str(modules[1].get("path", ""))
    if modules[0].get("path") != "" or place not in {"1_Pooling", "pooling"}:
        raise Unsuited("its modules are elsewhere")
    sentence = read_object(directory / "sentence_bert_config.json")
    pooling = _pooling(read_object(directory / place / "config.json"))
    shape = plain_shape(
        read_object(directory / "config.json"), sentence, read_object(prompts) if prompts.is_file() else {}, pooling
    )
    return replace(shape, longest=whole(sentence, "max_seq_length", shape.longest))


def _pooling(config: dict[str, Any]) -> str:
    modes = {key.removeprefix("pooling_mode_") for key, on in config.items() if key.startswith("pooling_mode_") and on}
    if isinstance(named := config.get("pooling_mode"), str):
        modes = {named}
    for mode, keys in {"mean": {"mean_tokens", "mean"}, "cls": {"cls_token", "cls"}}.items():
        if len(modes) == 1 and modes <= keys:
            return mode
    raise Unsuited("it pools in another way")


class BertEncoder:
    """A loaded encoder. Thread-safe.

    Args:
        threads: that compute.

    Raises:
        Unsuited: sentence-transformers is needed for this model.
        ModelError, Exception: as of :class:`BertSession`.
    """

    def __init__(self, directory: Path, threads: int) -> None:
        self._shape = read_shape(directory)
        self.dimensions = self._shape.width
        self._session = BertSession(directory, self._shape, threads)
        self.encode(["."])  # sizes that do not fit each other show when it runs
        self.backend = f"{self._session.runtime} float32"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), dimensions), in the order of the texts."""
        encodings = self._session.tokenizer.encode_batch(list(texts))
        vectors = np.empty((len(encodings), self.dimensions), dtype=np.float32)
        for batch in _batches([len(encoding.ids) for encoding in encodings]):
            hidden, lengths = self._session.read([encodings[i] for i in batch])
            vectors[batch] = self._pooled(hidden, lengths)
        return vectors

    def _pooled(self, hidden: NDArray[np.float32], lengths: NDArray[np.int32]) -> NDArray[np.float32]:
        if self._shape.pooling == "cls":
            pooled = hidden[:, 0]
        else:
            real = np.arange(hidden.shape[1]) < lengths[:, None]
            pooled = np.einsum("btw,bt->bw", hidden, real.astype(np.float32)) / lengths[:, None]
        vectors: NDArray[np.float32] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True).clip(1e-12)
        return vectors


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Which texts are computed together: those of like length, which pad each other least, up to a bound."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    while order:
        size = max(1, _BATCH_TOKENS // lengths[order[0]])
        yield order[:size]
        order = order[size:]


# A BERT cross-encoder on onnxruntime, without torch.
#
# In float32, with the scores that sentence-transformers would give; models of any other form are left to it.


class BertPairs:
    """A loaded cross-encoder. Its methods are for one thread at a time.

    Args:
        longest: tokens of a pair that are read at most.
        threads: that compute.

    Attributes:
        marks: texts that the tokenizer reads as its own marks, such as [SEP].

    Raises:
        Unsuited: sentence-transformers is needed for this model, or onnxruntime is not installed.
        ModelError, Exception: as of :class:`BertSession`.
    """

    def __init__(self, directory: Path, longest: int, threads: int) -> None:
        shape = _shape(directory, longest)
        self._session = BertSession(directory, shape, threads)
        self.marks = self._session.marks
        weights = self._session.weights
        self._layers = [(weights[f"{at}.weight"].T, weights[f"{at}.bias"]) for at in ("pooler.dense", "classifier")]
        if self._session.kinds != 2 or self._layers[1][0].shape != (shape.width, 1):
            raise Unsuited("its parts do not fit each other")
        self.predict([(".", ".")])  # sizes that do not fit each other show when it runs

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The score of each pair, computed as one batch."""
        hidden, _ = self._session.read(self._session.tokenizer.encode_batch(list(pairs)))
        (pool, pool_bias), (classify, bias) = self._layers
        scores: list[float] = (np.tanh(hidden[:, 0] @ pool + pool_bias) @ classify + bias)[:, 0].tolist()
        return scores


def _shape(directory: Path, longest: int) -> BertShape:
    """The shape of the encoder. Raises Unsuited for any that is not of the plain kind."""
    config, tokens = read_object(directory / "config.json"), read_object(directory / "tokenizer_config.json")
    sentence, prompts = (
        read_object(directory / name) if (directory / name).is_file() else {}
        for name in ("sentence_bert_config.json", "config_sentence_transformers.json")
    )
    if config.get("architectures") != ["BertForSequenceClassification"]:
        raise Unsuited("it is not a plain BERT cross-encoder")
    shape = plain_shape(config, sentence, prompts, "cls")
    # Tokenizers without a limit say so by an enormous number, which may be written as a float.
    told = (tokens.get("model_max_length"), sentence.get("max_seq_length"))
    limits = [limit for limit in told if limit]
    if not all(isinstance(limit, int | float) and limit > 3 for limit in limits):
        raise Unsuited("its tokenizer's limit is not a number")
    return replace(shape, longest=int(min(longest, shape.longest, *limits)))
