"""Keys of names keep the marks that are part of a letter, and fold the accents and points that may be left out."""

from __future__ import annotations

import unicodedata

import pytest

from atomr_local.language.names import base_key, comparable, former_name_key, name_key, words

DIFFERENT = {
    "Hindi": [("राम", "रमा"), ("कि", "की"), ("दिन", "दान"), ("क्षमा", "कषम"), ("मां", "मा")],
    "Bengali": [("কাল", "কল"), ("বিনা", "বীণা")],
    "Tamil": [("பால்", "பல்"), ("கண்", "கண"), ("வேலன்", "வாலன்")],
    "Malayalam": [("മല", "മാല")],
    "Thai": [("ปู่", "ปู"), ("ดี", "ดำ"), ("สุรินทร์", "สรินทร")],
    "Khmer": [("កា", "កី")],
    "Burmese": [("မာ", "မို")],
    "Japanese": [("カラス", "ガラス"), ("はと", "ばと"), ("ハン", "パン")],
    "Thaana": [("މަ", "މި")],
}
EQUAL = {
    "Hindi, the dot of a nukta": [("ज़ाकिर", "जाकिर")],
    "Hindi, composed and not": [("क़लम", "क\u093cलम")],
    "Sinhala, an invisible joiner": [("ශ්‍රී", "ශ්රී")],
    "Bengali, an invisible non-joiner": [("ক্‌ষ", "ক্ষ")],
    "Thai, composed and not": [("น้ำ", "น\u0e49\u0e4d\u0e32")],
    "Hebrew points": [("שָׁלוֹם", "שלום"), ("יְרוּשָׁלַיִם", "ירושלים")],
    "Arabic harakat": [("مُحَمَّد", "محمد"), ("القُرْآن", "القران"), ("أحمد", "احمد")],
    "Vietnamese": [("Nguyễn Huệ", "nguyen hue"), ("Đà Nẵng", "da nang")],
    "Latin": [("Łódź", "lodz"), ("Kraków", "krakow"), ("Škoda", "skoda")],
    "Greek": [("Αθήνα", "αθηνα")],
    "Cyrillic": [("Королёв", "Королев"), ("Чайковский", "Чаиковскии")],
    "Japanese, half width": [("ｶﾞﾗｽ", "ガラス")],
}


@pytest.mark.parametrize("script", DIFFERENT)
def test_names_that_differ_in_a_vowel_are_different(script: str) -> None:
    for one, other in DIFFERENT[script]:
        assert name_key(one) != name_key(other), (one, other)
        assert base_key(one) != base_key(other)
        assert " " not in name_key(one), "a mark parts no word"


@pytest.mark.parametrize("script", EQUAL)
def test_what_may_be_left_out_is_folded(script: str) -> None:
    for one, other in EQUAL[script]:
        assert name_key(one) == name_key(other), (one, other)


def test_words_and_characters_keep_their_marks() -> None:
    assert words("राम की माला") == ["राम", "की", "माला"]
    assert words("ปู่กิน") == ["ปู่", "กิ", "น"], "each character with its vowel and tone"
    assert comparable("ガラス") == [unicodedata.normalize("NFKD", pair) for pair in ("ガラ", "ラス")]
    assert name_key("म रा") == "म रा", "a letter with a vowel is no initial"
    assert name_key("एम. एस. धोनी") == "एम एस धोनी"


def test_a_key_is_the_key_of_itself() -> None:
    for one, other in [pair for pairs in (*DIFFERENT.values(), *EQUAL.values()) for pair in pairs]:
        for text in (one, other):
            assert name_key(name_key(text)) == name_key(text)


_SCRIPTS = ("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "GEORGIAN", "HEBREW", "ARABIC", "HANGUL", "CJK", "ETHIOPIC")


def test_keys_of_scripts_without_such_marks_are_as_they_were() -> None:
    """So that indexes of earlier versions find by them what they found."""
    for code in range(0x30000):
        character = chr(code)
        if unicodedata.name(character, "").startswith(_SCRIPTS) or code < 0x370:
            text = f"A{character}b {character}"
            assert name_key(text) == former_name_key(text), hex(code)
