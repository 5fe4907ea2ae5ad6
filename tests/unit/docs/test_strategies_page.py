"""The page about strategies has what it promises for each of them, and the defaults that it tells are those of the code."""

from __future__ import annotations

import re

import pytest
from support.places import ROOT

from atomr_local.settings.schema import FeatureSettings, Settings
from atomr_local.strategies.names import known_names
from atomr_local.strategies.registry import find_strategy

PAGE = (ROOT / "docs" / "strategies.md").read_text(encoding="utf-8")
SECTIONS = {match[1]: match[2] for match in re.finditer(r"^## (\S+)\n(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL)}
PARTS = ("What it does.", "When to use it.", "Its trace.", "Options.")
# `cok.samples` (5) and `react.votes` (5; published: 21)
DEFAULTS = re.findall(r"`([a-z-]+)\.([a-z_]+)` \(([\d.]+)(?:;[^)]*)?\)", PAGE)
SET = re.findall(r"`(?:--set )?([a-z-]+)\.([a-z_]+)=([^`\s]+)", PAGE)


@pytest.mark.parametrize("name", known_names())
def test_each_strategy_has_a_paragraph_when_to_use_it_a_trace_and_its_options(name: str) -> None:
    places = [SECTIONS[name].index(f"**{part}**") for part in PARTS]
    assert places == sorted(places)
    picture = SECTIONS[name][places[2] : places[3]]
    assert re.search(r"^    \S.* → ", picture, re.MULTILINE), "a picture begins with the question and its answer"
    assert f"(#{name})" in PAGE.split("\n## ", 2)[1], "it stands in the table of which one to use"


def test_defaults_are_those_of_the_code() -> None:
    settings = Settings()
    assert len(DEFAULTS) > 15
    for name, option, told in DEFAULTS:
        if name in known_names():
            known = find_strategy(name).options.model_fields[option].default
        else:
            known = getattr(getattr(settings, name), option)
        assert float(told) == known, f"{name}.{option}"


def test_options_that_it_sets_can_be_set() -> None:
    own = [(name, option, value) for name, option, value in SET if name in known_names()]
    assert len(own) > 10
    for name, option, value in own:
        find_strategy(name).options.model_validate({option: value})
    for name, option, _value in SET:
        assert name in known_names() or (name == "features" and option in FeatureSettings.model_fields), name
