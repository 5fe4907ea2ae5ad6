from __future__ import annotations

import pytest

from atomr_local.language.names import countries_in, country_named, country_of


@pytest.mark.parametrize(
    ("text", "country"),
    [
        ("American", "United States"),
        ("the United States", "United States"),
        ("U.S.", "United States"),
        ("Côte d'Ivoire", None),
        ("Dutch", "Netherlands"),
        ("burkinabe", "Burkina Faso"),
        ("American film", None),
        ("", None),
        ("Rome", None),
    ],
)
def test_names_and_demonyms_meet(text: str, country: str | None) -> None:
    assert country_named(text) == country


@pytest.mark.parametrize(
    ("place", "country"),
    [
        ("Louisiana", "United States"),
        ("Perth, Western Australia", "Australia"),
        ("Paris, France", "France"),
        ("Georgia", "Georgia"),
        ("Danish", "Denmark"),
        ("Atlantis", None),
    ],
)
def test_places_lie_in_countries(place: str, country: str | None) -> None:
    assert country_of(place) == country


def test_countries_as_a_text_writes_them() -> None:
    text = "A Danish film made in the United States, South Korea's best and the USA's. He was polish-minded; a turkey."
    assert countries_in(text) == ["Danish", "United States", "South Korea", "USA"]
    assert countries_in("") == []
