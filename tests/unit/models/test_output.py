"""Bytes to text: characters whole, stop texts, fragments."""

from __future__ import annotations

import random

import pytest

from atomr_local.models.protocol import OutputText


def run(pieces: list[bytes], stop: tuple[str, ...] = ()) -> tuple[str, list[str], OutputText]:
    fragments: list[str] = []
    output = OutputText(stop, fragments.append)
    for piece in pieces:
        output.add(piece, -1.0)
        if output.stopped:
            break
    text, tokens = output.finish()
    assert "".join(fragments) == text
    assert "".join(token.text for token in tokens) == text
    return text, fragments, output


def test_fragments_come_at_once_without_stop_texts() -> None:
    assert run([b"a", b"bc", b"d"])[1] == ["a", "bc", "d"]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_characters_split_over_tokens(size: int) -> None:
    data = "naïve 日本語 😀 é".encode()
    text, fragments, _ = run([data[at : at + size] for at in range(0, len(data), size)])
    assert text == data.decode()
    assert "\ufffd" not in "".join(fragments)


def test_an_unfinished_character_is_dropped_and_a_wrong_byte_replaced() -> None:
    assert run(["aé".encode()[:-1]])[0] == "a"
    assert run([b"a\xffb"])[0] == "a\ufffdb"


def test_stop_text_within_and_across_tokens() -> None:
    for pieces in ([b"one END two"], [b"one E", b"N", b"D two"], [b"one ", b"END"]):
        text, _, output = run(pieces, ("END",))
        assert text == "one "
        assert output.stopped


def test_what_only_looks_like_a_stop_text_comes_later() -> None:
    text, fragments, output = run([b"a E", b"N", b"C"], ("END",))
    assert text == "a ENC"
    assert fragments == ["a ", "ENC"]
    assert not output.stopped


def test_the_first_of_several_stop_texts_counts() -> None:
    assert run([b"abcXYdefZ"], ("Z", "XY", ""))[0] == "abc"


def test_any_split_gives_the_same() -> None:
    random_ = random.Random(3)
    for _ in range(500):
        data = "".join(random_.choice("ab\n日") for _ in range(random_.randrange(1, 20))).encode()
        stop = tuple("".join(random_.choice("ab\n日") for _ in range(random_.randrange(1, 4))) for _ in range(2))
        expected = data.decode()
        ends = [expected.find(text) for text in stop if text in expected]
        # Generation goes token by token: a text that is complete earlier stops first.
        cuts = sorted(random_.sample(range(len(data) + 1), k=min(len(data), random_.randrange(0, 6))))
        pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        text = run(pieces, stop)[0]
        assert not any(mark in text for mark in stop)
        assert expected.startswith(text)
        if not ends:
            assert text == expected
        else:
            assert len(text) >= min(ends)
            assert any(expected.startswith(mark, len(text)) for mark in stop)
