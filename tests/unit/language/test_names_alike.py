"""Spellings that are one name: hyphens, dashes, spaces, capitals, accents and what no screen shows."""

from __future__ import annotations

import random

import pytest

from atomr_local.language.names import base_key, name_key

ALIKE = [
    ("Moby-Dick", "moby dick", "MOBY\u2010DICK", "Moby\u2011Dick", "Moby \u2013 Dick", "Moby\u2014Dick", "moby_dick"),
    ("Guinea-Bissau", "guinea bissau", "Guinea\u2212Bissau"),
    ("Jean-Luc Godard", "jean luc godard", "JEAN\u2013LUC GODARD"),
    ("Saint-Exupéry", "saint exupery", "Saint\u2011Exupe\u0301ry"),
    ("Римский-Корсаков", "римский корсаков", "РИМСКИЙ\u2013КОРСАКОВ"),
    ("Παπα-Νικόλας", "παπα νικολας", "ΠΑΠΑ\u2011ΝΙΚΌΛΑΣ"),
    ("תל־אביב", "תל אביב", "תל-אביב"),
    ("أبو-ظبي", "ابو ظبي", "أبو\u2013ظبي"),
    ("Hồ Chí Minh", "ho chi minh", "HO-CHI-MINH"),
    ("ジャン＝リュック・ゴダール", "ジャン リュック ゴダール", "ジャン-リュック-ゴダール"),
    ("북한-중국", "북한 중국", "북한\u2013중국"),
    ("O\u2019Neill", "o'neill", "ONeill"),
    ("Wittgenstein", "Wittgen\u00adstein", "\u200eWittgenstein\u200f", "\ufeffWittgen\u200bstein"),
]


@pytest.mark.parametrize("spellings", ALIKE, ids=lambda spellings: spellings[0])
def test_spellings_of_one_name_have_one_key(spellings: tuple[str, ...]) -> None:
    assert len({name_key(spelling) for spelling in spellings}) == 1
    assert len({base_key(f"The {spelling} (film)") for spelling in spellings}) == 1


def test_what_stands_for_a_sound_is_no_dash() -> None:
    assert name_key("スター") != name_key("スタ")
    assert name_key("Ann") != name_key("An n")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Ann Lee", "ann lee"),
        ("  Ann \t Lee\n", "ann lee"),
        ("J R R Tolkien", "jrr tolkien"),
        ("J. R. R. Tolkien", "jrr tolkien"),
        ("Vitamin B 12", "vitamin b 12"),
        ("U S", "us"),
        ("X", "x"),
        ("2 4 6", "2 4 6"),
        ("R&B", "r and b"),
        ("snake_case 7", "snake case 7"),
        ("?!", "?!"),
        (" ", ""),
    ],
)
def test_keys_of_plain_texts(text: str, key: str) -> None:
    assert name_key(text) == key


def test_a_plain_text_has_the_key_of_its_spelling_with_marks() -> None:
    rng = random.Random(5)
    for _ in range(2_000):
        parts = ["".join(rng.choices("abAB19", k=rng.choice((1, 1, 2, 4)))) for _ in range(rng.randint(1, 5))]
        # Hyphens are read as spaces, by the longer way.
        assert name_key(" ".join(parts)) == name_key("-".join(parts)) == name_key(" ".join(parts) + "!")
