"""Nothing from outside may drive or deceive a terminal."""

from __future__ import annotations

import unicodedata

import pytest

from atomr_local.system.sanitize import sanitize, sanitize_line

ESC = "\x1b"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"{ESC}[31mred{ESC}[0m", "red"),
        (f"{ESC}[2J{ESC}[Hgone", "gone"),
        (f"{ESC}]0;title\x07text", "text"),
        (f"{ESC}]52;c;c2VjcmV0{ESC}\\text", "text"),
        (f"{ESC}]8;;http://evil{ESC}\\link{ESC}]8;;{ESC}\\", "link"),
        (f"{ESC}Pq#0{ESC}\\after", "after"),
        (f"{ESC}_apc{ESC}\\{ESC}^pm{ESC}\\after", "after"),
        (f"{ESC}cafter", "after"),
        (f"{ESC}(0after", "after"),
        ("\x9b31mred", "red"),
        ("\x9d0;title\x9cafter", "after"),
        ("\x90q\x9cafter", "after"),
        (f"end{ESC}", "end"),
        (f"end{ESC}[", "end"),
        ("a\x00b\x08c\x7fd\x0be", "abcde"),
        ("ab\u202etxt.exe", "abtxt.exe"),
        ("a\u2066b\u2069c\u200ed\u200fe", "abcde"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("a\u2028b\u2029c", "abc"),
        ("tag\U000e0041", "tag"),
        ("lone\ud800end", "loneend"),
        ("private\ue000", "private"),
        ("line\r\nline\rline", "line\nline\nline"),
        ("tab\tand\nnewline", "tab\tand\nnewline"),
        ("Ærøskøbing 東京 👩‍👩‍👧 می‌خواهم é", "Ærøskøbing 東京 👩‍👩‍👧 می‌خواهم é"),
        ("", ""),
    ],
)
def test_what_goes_and_what_stays(text: str, clean: str) -> None:
    assert sanitize(text) == clean


def test_one_removed_piece_does_not_join_a_new_escape() -> None:
    assert ESC not in sanitize(f"{ESC}{ESC}[31m[31mred")
    for text in (f"{ESC}\x00[31m", f"\u200b{ESC}\u200b[2J", f"{ESC}]{ESC}]0;x\x07"):
        assert not any(unicodedata.category(c).startswith("C") for c in sanitize(text))


def test_every_single_character_is_harmless_after_and_cleaning_twice_changes_nothing() -> None:
    for code in [*range(0x2100), *range(0xD7F0, 0xE010), 0xFEFF, 0xFFFF, 0x1F600, 0xE0001, 0x10FFFF]:
        clean = sanitize(f"a{chr(code)}b")
        assert sanitize(clean) == clean
        for character in clean:
            kept = character in "\n\t\u200c\u200d"
            assert kept or unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Cn"}, hex(code)


def test_a_line_is_one_line() -> None:
    assert sanitize_line(f"  a\n\nb\t c{ESC}[1m \u2003d\r\n") == "a b c d"
    assert sanitize_line("\n\t ") == ""
