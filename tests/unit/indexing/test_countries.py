from __future__ import annotations

import pytest

from atomr_local.indexing.countries import country_named


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
