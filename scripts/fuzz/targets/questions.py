"""Question sets, predictions and corpora as JSON lines: read, or refused with the file and the line."""

from __future__ import annotations

from collections.abc import Iterator

from atomr_lab.evaluation.datasets import load_questions, read_predictions

from atomr_local.errors import InputError
from atomr_local.indexing.readers.articles import read_corpus
from atomr_local.indexing.readers.detect import detect_text_format
from atomr_local.indexing.readers.lines import LineReader, Skipped
from fuzz.properties import as_file, expect, repeated

INSTRUMENTED = ("atomr_lab.evaluation", "atomr_local.indexing.readers")
DICTIONARY = (
    b'{"id": "1", "question": "', b'"answers": ["', b'"gold": ["', b'"predicted": "', b'"type": ',
    b'"gold_titles": [', b'"evidences": [["', b'"question_id": ', b'"index": 1', b'{"id": "1", "title": "',
    b'"text": "', b'"qid": "Q1"', b"}\n", b"\\ud800", b"\\u0000", b"NaN", b"1e999", b"\xef\xbb\xbf", b"null", b"[",
    b"{", b"9" * 40, b"\x1f\x8b\x08", b"BZh9", b"PK\x03\x04", b"<mediawiki", b"7z\xbc\xaf", b"\xfd7zXZ\x00", b"PAR1",
)  # fmt: skip


def seeds() -> Iterator[bytes]:
    yield b'{"id": "1", "question": "Who?", "answers": ["Ann", "A."], "type": "bridge", "gold_titles": ["Ann"], "evidences": [["a", "b", "c"]]}\n'
    yield b'{"question": "Who?", "predicted": "Ann", "gold": ["Ann"]}\n{"question": "b", "predicted": "", "gold": "x"}\n'
    yield b'{"id": 1, "title": "Paris", "text": "Paris is a city.", "qid": "Q90", "url": "x"}\n'
    yield repeated(b"[", 30_000, head=b'{"question": "a", "answers": ')
    yield repeated(b"9", 5_000, head=b'{"question": "a", "answers": ["a"], "id": ', tail=b"}")


def check(data: bytes) -> None:
    path = as_file(data, "lines.jsonl")
    try:
        questions = load_questions(path)
        expect(len({question.id for question in questions}) == len(questions), "ids are unique")
        expect(all(question.answers and question.question for question in questions), "questions are whole")
    except InputError as error:
        expect(str(path) in error.message, "the file is named", error.message)
    try:
        for prediction in read_predictions(path):
            expect(0 <= prediction.score.f1 <= 1, "scores are shares", prediction.score)
    except InputError as error:
        expect(str(path) in error.message, "the file is named", error.message)
    try:
        detect_text_format(path)
        for article in read_corpus(LineReader(path), Skipped()):
            expect(article.text.encode("utf-8") is not None and article.title.strip() != "", "articles can be stored")
    except InputError as error:
        expect(str(path) in error.message, "the file is named", error.message)
