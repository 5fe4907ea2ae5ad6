from __future__ import annotations

import pytest

from atomr_local.indexing.readers.wikipedia.wikitext import plain_text


@pytest.mark.parametrize(
    ("wikitext", "shown"),
    [
        (r"It is <math>\frac{a_{1}}{b}</math> here.", r"It is \frac{a_{1} }{b} here."),
        ("<math>\nE = mc^2\n</math>", "E = mc^2"),
        ("Water, <chem>H2O</chem>, is wet.", "Water, H2O, is wet."),
        ("Water, {{chem2|H2O}}, and {{chem|C|2|H|6}}.", "Water, H2O, and C2H6."),
        ("about {{convert|3|Moilbbl|m3}} of oil", "about 3 million barrels of oil"),
        ("{{convert|10|to|20|km2|sqmi}}", "10 to 20 km²"),
        ("the letter {{angbr|x}}, said {{IPA|/ks/}}", "the letter ⟨x⟩, said /ks/"),
        ("such as {{a}}, {{b}}, {{c}}, {{d}} and so on", "such as, and so on"),
        ("<math/> alone", "alone"),
    ],
)
def test_what_formulas_units_and_signs_show(wikitext: str, shown: str) -> None:
    assert plain_text(wikitext).text == shown


@pytest.mark.parametrize(
    "title", ["Einzelnachweise", "Notes et références", "Примечания", "外部リンク", "קישורים חיצוניים"]
)
def test_link_sections_of_other_languages_are_left_out(title: str) -> None:
    assert plain_text(f"Prose.\n== {title} ==\nA book.\n").text == "Prose."
