from __future__ import annotations

from atomr_local.tui.widgets.node_panel import marked


def test_the_sentence_with_the_answer_is_underlined() -> None:
    text = "Lakes are deep. The hut was built in 1891. It burnt down."
    shown = marked(text, ["1891"], sentences_too=True)
    found = {str(span.style): text[span.start : span.end].strip() for span in shown.spans}
    assert found == {"underline": "The hut was built in 1891.", "reverse": "1891"}
    assert [str(span.style) for span in marked(text, ["1891"]).spans] == ["reverse"]
    assert "underline" not in {str(span.style) for span in marked(text, [], sentences_too=True).spans}
