from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from support.fake_embedder import FakeEmbedder

from atomr_local.errors import MissingPartError
from atomr_local.indexing import store
from atomr_local.indexing.embedding.embedder import TokenCounts, token_counts
from atomr_local.indexing.text_index.chunking import passage_heading, passages
from atomr_local.indexing.text_index.index import build_text_index
from atomr_local.language.sentences import size_in_words
from atomr_local.models.catalog.find import starter_embedder_path

TEXTS = {
    "Chinese": "萬民福音部是羅馬教廷的之一，為天主教會的最高宣教機構，隸屬於教廷國務院。",
    "Japanese": "富士山は静岡県と山梨県に跨る活火山であり、標高は3776メートルである。",
    "Thai": "กรุงเทพมหานครเป็นเมืองหลวงและนครที่มีประชากรมากที่สุดของประเทศไทย ",
    "Hebrew": "מתמטיקה היא תחום דעת העוסק במושגים כגון כמות, מבנה, מרחב ושינוי. ",
    "Arabic": "القاهرة هي عاصمة جمهورية مصر العربية وأكبر مدنها، وتقع على ضفاف نهر النيل. ",
    "English": "The lake lies between two valleys and is known for its clear water. ",
    "addresses": "https://example.org/" + "a1b2c3d4/" * 40 + " ",
}


@pytest.fixture(scope="module")
def tokens() -> TokenCounts:
    try:
        found = token_counts(starter_embedder_path())
    except MissingPartError:
        pytest.skip("the starter's embedder is not installed")
    assert found is not None
    return found


@pytest.mark.parametrize("language", TEXTS)
def test_no_passage_is_longer_than_the_embedder_reads(language: str, tokens: TokenCounts) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(starter_embedder_path() / "tokenizer.json"))
    tokenizer.no_truncation()
    text = TEXTS[language] * 60
    found = list(passages(text, 120, title=language, tokens=tokens))
    assert "".join("".join(p.text.split()) for p in found) == "".join(text.split())
    for passage in found:
        assert len(tokenizer.encode(f"{passage_heading(language, '')}: {passage.text}").ids) <= 256
        assert size_in_words(passage.text) <= 120
        assert len(passage.text) <= 1200


@pytest.mark.parametrize("language", ["Chinese", "Japanese", "Hebrew", "Arabic", "English"])
def test_passages_end_with_a_sentence(language: str, tokens: TokenCounts) -> None:
    found = list(passages(TEXTS[language] * 60, 120, title="A title", tokens=tokens))
    assert len(found) > 3
    assert all(passage.text.endswith(TEXTS[language].strip()[-1]) for passage in found)


def test_a_long_heading_takes_no_more_than_half(tokens: TokenCounts) -> None:
    found = list(passages(TEXTS["English"] * 60, 120, title="long title " * 200, tokens=tokens))
    assert min(len(passage.text.split()) for passage in found[:-1]) > 60


def test_english_prose_is_cut_as_without_tokens(tokens: TokenCounts) -> None:
    text = TEXTS["English"] * 60
    assert list(passages(text, 120, title="Lake", tokens=tokens)) == list(passages(text, 120))


def test_a_counter_goes_to_another_process(tokens: TokenCounts) -> None:
    copy = pickle.loads(pickle.dumps(tokens))
    assert (copy.most, copy.of_words(["unaffable"])) == (254, tokens.of_words(["unaffable"]))
    assert copy.of_words(["\ud800"]) >= 1


def test_a_model_without_such_a_tokenizer_counts_nothing(tmp_path: Path) -> None:
    assert token_counts(tmp_path) is None


def test_an_index_of_a_former_version_is_added_to_and_tells_how_it_was_cut(tmp_path: Path) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for file, title in ((first, "Como"), (second, "Garda")):
        file.write_text(json.dumps({"id": title, "title": title, "text": f"{title} is a lake."}), encoding="utf-8")
    build_text_index([first], "mine", embedder=FakeEmbedder())
    place = store.index_path("text", "mine") / store.MANIFEST
    manifest = json.loads(place.read_text(encoding="utf-8"))
    assert manifest["settings"].pop("chunker") == 2
    place.write_text(json.dumps(manifest), encoding="utf-8")
    (place.parent / store.DIGESTS).unlink()
    told: list[str] = []
    added = build_text_index([second], "mine", embedder=FakeEmbedder(), add=True, tell=told.append)
    assert added.counts["articles"] == 2
    assert added.settings["chunkers"] == [1, 2]
    assert any("before passages were cut" in message for message in told)


WORDS = ["lake", "Lake,", "(1912–1999),", "[SEP]", "x[CLS]y", "don't", "U.S.", "naïve", "中文字", "a\x00b", "q" * 120, "zzyzx-9", "``", "~", "A" * 199]  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_counted_as_the_tokenizer_counts_it(word: str, tokens: TokenCounts) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(starter_embedder_path() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    expected = len(tokenizer.encode(word, add_special_tokens=False).ids)
    assert [tokens.of_words([word]), tokens.of_words([word, word])] == [expected, 2 * expected]


@pytest.mark.parametrize(
    "change",
    [
        {"pre_tokenizer": {"type": "Whitespace"}},
        {"normalizer": None},
        {
            "normalizer": {
                "type": "BertNormalizer",
                "clean_text": True,
                "handle_chinese_chars": True,
                "lowercase": False,
            }
        },
        {"added": "lake"},
    ],
)
def test_another_tokenizer_is_asked_itself(change: dict[str, object], tokens: TokenCounts, tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    found = json.loads((starter_embedder_path() / "tokenizer.json").read_text(encoding="utf-8"))
    if added := change.get("added"):
        found["added_tokens"].append({**found["added_tokens"][-1], "id": 200_000, "content": added})
    else:
        found |= change
    (tmp_path / "tokenizer.json").write_text(json.dumps(found), encoding="utf-8")
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    counts = TokenCounts(tmp_path)
    for word in ["Lake,", "slakelake", "U.S.-based", "(1912)", "don't"]:
        assert counts.of_words([word]) == len(tokenizer.encode(word, add_special_tokens=False).ids)
