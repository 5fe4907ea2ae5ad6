"""Reranking with a real cross-encoder: tiny, of a fixed seed, saved and loaded as any other."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.article_indexes import build_articles
from support.fake_embedder import FakeEmbedder
from support.starter_parts import embedder_directory

from atomr_local.assistant.session import Session
from atomr_local.errors import AtomrError, Cancelled, MissingPartError, ModelError
from atomr_local.indexing.embedding.bert import BertPairs, Unsuited
from atomr_local.settings.schema import load_settings
from atomr_local.sources.protocol import Request, Value
from atomr_local.sources.registry import open_source
from atomr_local.sources.reranking import CrossEncoderReranker, check_cross_encoder
from atomr_local.sources.text import TextSource
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import Operator

pytestmark = pytest.mark.slow  # it loads torch

_SAID = "lake river hill town road tower bridge forest como garda deep who is the"
WORDS = _SAID.split()
QUERY = "who is the deep lake"
POSITIONS = 64


def save(directory: Path, labels: int = 1) -> Path:
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    torch.manual_seed(7)
    directory.mkdir()
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (directory / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizerFast(str(directory / "vocab.txt")).save_pretrained(directory)
    config = BertConfig(  # type: ignore[call-arg]  # the number of labels is an option of all configurations
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=POSITIONS,
        num_labels=labels,
        initializer_range=0.6,  # as usual, 0.02, every passage would have nearly the same score
    )
    BertForSequenceClassification(config).eval().save_pretrained(directory)
    return directory


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("reranker") / "tiny")


@pytest.fixture(scope="module", params=["onnxruntime", "torch"])
def reranker(saved: Path, request: pytest.FixtureRequest) -> CrossEncoderReranker:
    return CrossEncoderReranker(saved, runtime=request.param)


def passages(count: int) -> list[str]:
    return [" ".join(WORDS[(i * k + k) % len(WORDS)] for k in range(1, 2 + i % 9)) for i in range(count)]


def scores(reranker: CrossEncoderReranker, texts: Sequence[str], query: str = QUERY) -> list[float]:
    return reranker.scores(query, texts, Cancellation())


def test_scores_are_those_of_the_model(saved: Path, reranker: CrossEncoderReranker) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    texts = passages(21)
    tokenizer = AutoTokenizer.from_pretrained(saved)
    model = AutoModelForSequenceClassification.from_pretrained(saved).eval()
    with torch.no_grad():
        wanted = [float(model(**tokenizer(QUERY, text, return_tensors="pt")).logits[0, 0]) for text in texts]
    assert scores(reranker, texts) == pytest.approx(wanted, abs=1e-4)
    assert max(wanted) - min(wanted) > 0.1


def test_a_score_does_not_depend_on_its_neighbours(reranker: CrossEncoderReranker) -> None:
    texts = passages(21)
    together = scores(reranker, texts)
    assert together == pytest.approx([scores(reranker, [text])[0] for text in texts], abs=1e-4)
    assert together[::-1] == pytest.approx(scores(reranker, texts[::-1]), abs=1e-4)
    assert scores(reranker, []) == []


def test_what_is_too_long_is_cut(reranker: CrossEncoderReranker) -> None:
    long = "lake river " * 50_000
    assert scores(reranker, [long, "hill"]) == pytest.approx(
        scores(reranker, ["lake river " * POSITIONS, "hill"]), abs=1e-4
    )
    assert len(scores(reranker, ["hill", "lake"], query=long)) == 2


def test_marks_in_the_text_are_not_read_as_marks(reranker: CrossEncoderReranker) -> None:
    plain = scores(reranker, ["lake hill", "river   town"])
    assert scores(reranker, ["lake [SEP] hill", "river [CLS][PAD] town"]) == pytest.approx(plain, abs=1e-4)
    assert scores(reranker, ["hill"], query="lake [SEP] road") == pytest.approx(
        scores(reranker, ["hill"], query="lake road"), abs=1e-4
    )


@pytest.mark.parametrize("text", ["", " ", "\x00\x1b[2J", "\ud800 lake", "東京 😀", "[SEP]", "'; DROP TABLE"])
def test_hostile_text_has_a_score(reranker: CrossEncoderReranker, text: str) -> None:
    (score,) = scores(reranker, [text], query=text)
    assert score == score


def test_a_plain_bert_waits_for_no_torch_and_opens_no_socket(saved: Path) -> None:
    code = f"""
import socket, sys
from pathlib import Path
def refuse(*_, **__):
    raise AssertionError("a socket")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
from atomr_local.system.cancellation import Cancellation
from atomr_local.sources.registry import open_source
from atomr_local.sources.reranking import CrossEncoderReranker
CrossEncoderReranker(Path({str(saved)!r})).scores("who", ["lake"], Cancellation())
print(*{{"torch", "transformers", "sentence_transformers", "huggingface_hub"}} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.strip() == ""
    assert done.stderr == ""


def test_threads_that_ask_at_once_get_what_each_would_get_alone(reranker: CrossEncoderReranker) -> None:
    asked = [(" ".join(WORDS[i : i + 3]), passages(12)[i:]) for i in range(8)]
    alone = [scores(reranker, texts, query) for query, texts in asked]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda one: scores(reranker, one[1], one[0]), asked))
    for found, wanted in zip(together, alone, strict=True):
        assert found == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize(
    ("file", "values"),
    [
        ("config.json", {"architectures": ["RobertaForSequenceClassification"]}),
        ("config.json", {"hidden_act": "relu"}),
        ("config.json", {"is_decoder": True}),
        ("tokenizer_config.json", {"model_max_length": "64"}),
        ("sentence_bert_config.json", {"do_lower_case": True}),
        ("config_sentence_transformers.json", {"default_prompt_name": "query"}),
    ],
)
def test_other_kinds_of_model_are_left_to_torch(
    saved: Path, tmp_path: Path, file: str, values: dict[str, object]
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(saved, copy)
    BertPairs(copy, 64, 1)
    held = copy / file
    held.write_text(json.dumps((json.loads(held.read_text()) if held.exists() else {}) | values))
    with pytest.raises(Unsuited):
        BertPairs(copy, 64, 1)
    with pytest.raises(ModelError, match="cannot be run by onnxruntime"):
        scores(CrossEncoderReranker(copy, runtime="onnxruntime"), ["lake"])


def test_a_model_of_another_form_is_run_by_torch(saved: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(saved, copy)
    configure(copy, hidden_act="relu")
    texts = passages(5)
    assert scores(CrossEncoderReranker(copy), texts) == pytest.approx(
        scores(CrossEncoderReranker(copy, runtime="torch"), texts), abs=1e-4
    )


class FakeImpatience(Cancellation):
    """Thrown after it was asked so often."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

    def check(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Cancelled


def test_it_is_cancelled_between_batches(saved: Path, reranker: CrossEncoderReranker) -> None:
    fresh = CrossEncoderReranker(saved, runtime="torch")
    with pytest.raises(Cancelled):
        fresh.scores(QUERY, ["lake"], FakeImpatience(0))
    assert fresh._model is None
    scores(reranker, ["lake"])
    with pytest.raises(Cancelled):
        reranker.scores(QUERY, passages(21), FakeImpatience(2))
    assert len(reranker.scores(QUERY, passages(21), FakeImpatience(3))) == 21


def configure(directory: Path, **changes: Any) -> None:
    file = directory / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def only_pickled(directory: Path) -> None:
    (directory / "model.safetensors").rename(directory / "pytorch_model.bin")


@pytest.mark.parametrize(
    ("harm", "kind", "message"),
    [
        (shutil.rmtree, MissingPartError, "is not a directory"),
        (lambda d: (d / "config.json").unlink(), MissingPartError, "no config.json"),
        (only_pickled, MissingPartError, "no safetensors weights"),
        (lambda d: configure(d, id2label={"0": "no", "1": "yes"}), ModelError, "2 labels, not 1"),
        (lambda d: configure(d, id2label=None, num_labels=3), ModelError, "labels, not 1"),
        (lambda d: configure(d, architectures=["BertModel"]), ModelError, "its kind is BertModel"),
        (lambda d: configure(d, architectures=None), ModelError, "not a cross-encoder"),
        (lambda d: (d / "config.json").write_text("["), ModelError, "cannot be read"),
        (lambda d: (d / "config.json").write_text("[]"), ModelError, "not a cross-encoder"),
        (lambda d: (d / "config.json").write_bytes(b"\xff\x00"), ModelError, "cannot be read"),
        (lambda d: (d / "modules.json").write_text('[{"path": "", "type": "os.Transformer"}]'), ModelError, "other modules"),
        (lambda d: (d / "modules.json").write_text("{}"), ModelError, "other modules"),
    ],
)  # fmt: skip
def test_what_is_no_cross_encoder_is_told_when_it_is_opened(
    saved: Path, tmp_path: Path, harm: Callable[[Path], object], kind: type[AtomrError], message: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(saved, copy)
    harm(copy)
    with pytest.raises(kind, match=message) as caught:
        CrossEncoderReranker(copy)
    assert str(copy) in caught.value.message
    assert caught.value.hint


def test_a_sentence_embedder_is_no_cross_encoder() -> None:
    with pytest.raises(ModelError, match="its kind is BertModel"):
        check_cross_encoder(embedder_directory())


def damaged(directory: Path) -> None:
    file = directory / "model.safetensors"
    file.write_bytes(file.read_bytes()[:200])


def foreign_code(directory: Path) -> None:
    (directory / "own.py").write_text("raise AssertionError('code of a model was run')")
    configure(
        directory, model_type="own", auto_map={"AutoModelForSequenceClassification": "own.Own", "AutoConfig": "own.C"}
    )


@pytest.mark.parametrize("harm", [damaged, foreign_code, lambda d: configure(d, hidden_size=24)])
def test_what_cannot_be_loaded_is_told_at_the_first_query(
    saved: Path, tmp_path: Path, harm: Callable[[Path], object]
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(saved, copy)
    harm(copy)
    opened = CrossEncoderReranker(copy)
    with pytest.raises(ModelError, match="cannot be loaded"):
        scores(opened, ["lake"])


TEXTS = {
    "Lake Como": "lake como deep lake",
    "Lake Garda": "lake garda town",
    "Como": "como town tower lake",
    "Mirror": "lake como, deep lake!",
    "Bridge": "bridge forest lake road",
    "Hill": "hill is the river lake",
}  # fmt: skip


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return build_articles(tmp_path, "lakes", TEXTS)


class FakeReranker:
    """Likes passages by the length of their titles; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []

    def scores(self, query: str, passages: Sequence[str], cancellation: Cancellation) -> list[float]:
        self.asked.append((query, list(passages)))
        return [float(passage.index(":")) for passage in passages]


def titles(source: TextSource, request: Request) -> list[str]:
    found = source.retrieve(request, Cancellation()).evidence
    assert [item.score for item in found] == sorted({item.score for item in found}, reverse=True)
    return [item.title for item in found]


def test_the_reranker_orders_what_was_found(directory: Path) -> None:
    fake = FakeReranker()
    source = TextSource(directory, FakeEmbedder(), reranker=fake)
    found = titles(source, Request("which lake?", "lake", top_k=10))
    lengths = [len(title) for title in found]
    assert lengths == sorted(lengths, reverse=True)
    # Of two that say the same it is shown one.
    assert len(found) == len(TEXTS) - 1 == len(fake.asked[0][1])
    assert fake.asked[0][0] == "which lake?"
    assert titles(source, Request("which lake?", "lake", top_k=2)) == found[:2]


def test_the_page_of_the_entity_stays_first(directory: Path) -> None:
    source = TextSource(directory, FakeEmbedder(), reranker=FakeReranker())
    request = Request("how high is it?", "hill lake", Operator.RELATE, (Value("Hill"),), 3)
    assert titles(source, request)[0] == "Hill"
    plain = TextSource(directory, FakeEmbedder(), page_first=False, reranker=FakeReranker())
    assert titles(plain, request)[0] != "Hill"


def test_a_real_cross_encoder_orders_a_search(directory: Path, reranker: CrossEncoderReranker) -> None:
    source = TextSource(directory, FakeEmbedder(), reranker=reranker)
    found = source.retrieve(Request(QUERY, QUERY, top_k=10), Cancellation()).evidence
    given = scores(reranker, [f"{item.title}: {item.text}" for item in found])
    assert len(found) == len(TEXTS) - 1
    assert given == sorted(given, reverse=True)
    without = TextSource(directory, FakeEmbedder())
    assert titles(without, Request(QUERY, QUERY, top_k=10)) != [item.title for item in found]


def test_the_setting_names_the_directory(directory: Path, saved: Path, tmp_path: Path) -> None:
    assert load_settings().retrieval.reranker == ""
    parts = Session(load_settings(text_index="lakes", retrieval={"reranker": str(tmp_path / "nowhere")}))
    with pytest.raises(MissingPartError, match="nowhere is not a directory"):
        open_source("text", parts._source_tools(lambda _: None))
