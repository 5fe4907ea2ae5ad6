"""The reliability diagram: what is counted, and the drawing as a document."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import reliability
from support.bench_runs import declined, told, write_run

from atomr_local.errors import InputError

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Ten told with 0.9, nine of them right; ten guesses with 0.2, two right; one of no confidence, one of no answer."""
    sure = [told(0.9, right=number < 9) for number in range(10)]
    unsure = [declined(0.2, right=number < 2) for number in range(10)]
    return write_run(tmp_path / "run", [*sure, *unsure, {"predicted": "Ann"}, {"confidence": 0.5}])


def test_wilson_agrees_with_the_published_figures() -> None:
    # Newcombe (1998), table I, method 3.
    for right, n, low, high in [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611)]:
        assert reliability.wilson(right, n) == pytest.approx((low, high), abs=1e-4)
    assert reliability.wilson(5, 5)[1] == 1


def test_bins_hold_every_guess_with_a_confidence(run: Path) -> None:
    counted = reliability.judged([run])
    assert len(counted) == 20
    low, high = reliability.bins_of(counted)
    assert (low.start, low.end, low.n, low.right, low.share) == (0.2, 0.3, 10, 2, 0.2)
    assert (high.start, high.n, high.right, high.share) == (0.9, 10, 9, 0.9)
    assert high.confidence == pytest.approx(0.9)
    assert high.low == pytest.approx(0.596, abs=1e-3)
    edges = reliability.bins_of([(0.0, False), (1.0, True)])
    assert [(item.start, item.end) for item in edges] == [(0.0, 0.1), (0.9, 1.0)]


def test_a_question_without_an_answer_is_never_guessed_right(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", [told(0.8, right=True, gold=[]), told(0.8, right=True, answerable=False)])
    assert reliability.judged([path]) == [(0.8, False), (0.8, False)]


def test_several_runs_are_one_document_that_can_be_read_out(run: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", [told(0.55, right=True)])
    out = tmp_path / "pictures" / "reliability.svg"
    title = 'Ours & <script>"theirs"</script>\x1b[31m'
    assert reliability.main([str(run), str(other), "--out", str(out), "--title", title]) == 0
    text = out.read_text()
    assert "<script" not in text and "\x1b" not in text
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg" and root.get("role") == "img"
    named = {root.find(f"{SVG}{name}").get("id") for name in ("title", "desc")}  # type: ignore[union-attr]
    assert named == set(root.get("aria-labelledby", "").split())
    assert "theirs" in root.findtext(f"{SVG}title", "")
    spoken = root.findtext(f"{SVG}desc", "")
    assert "21 guesses, 12 right" in spoken and "0.9 to 1.0: 9 of 10 right" in spoken
    assert "ECE " in spoken and "AUROC " in spoken
    assert len(root.findall(f"{SVG}circle")) == len(root.findall(f"{SVG}rect")) == 3
    assert "prefers-color-scheme: dark" in root.findtext(f"{SVG}style", "")
    for circle in root.findall(f"{SVG}circle"):
        assert 0 < float(circle.get("cx", "")) < 440 and 0 < float(circle.get("cy", "")) < 560


def test_nothing_is_told_of_what_cannot_be_told_apart(tmp_path: Path) -> None:
    assert "AUROC" not in reliability.caption([(0.4, True), (0.9, True)])


def test_what_is_no_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "x.svg"
    assert reliability.main([str(tmp_path), "--out", str(out)]) == 1
    assert "contains no evaluation run" in capsys.readouterr().err
    silent = write_run(tmp_path / "silent", [{"predicted": "Ann"}, {}])
    with pytest.raises(InputError, match="none of the runs holds an answer with a confidence"):
        reliability.judged([silent])
    (silent / "predictions.jsonl").write_text("{broken\n")
    assert reliability.main([str(silent), "--out", str(out)]) == 1
    assert "predictions.jsonl:1" in capsys.readouterr().err
    assert not out.exists()
