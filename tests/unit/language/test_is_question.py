from __future__ import annotations

import pytest

from atomr_local.language.question_kind import understands


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "?!…",
        "hello",
        "Hello!",
        "  Good   morning. ",
        "thanks!",
        "how are you?",
        "Hello there, how are you?",
        "ok, thanks! bye",
        "Hallo, wie geht's?",
        "Danke schön!",
        "¿Cómo estás?",
        "Merci beaucoup.",
        "Bonjour, comment ça va ?",
        "grazie mille",
        "sdfghjk",
        "asdkjh aksjdh",
        "xxxxxxx",
    ],
)
def test_what_asks_nothing(text: str) -> None:
    kind, sure = understands(text)
    assert kind == "nothing"
    assert sure >= 0.85


@pytest.mark.parametrize(
    "text",
    [
        "Wer hat Faust geschrieben?",
        "wie heißt der höchste berg der welt",
        "Quel est le plus haut sommet du monde ?",
        "¿Cuántos habitantes tiene Lima?",
        "Quanti abitanti ha Roma?",
        "Qual é a capital do Brasil?",
        "Jak wysoki jest Mount Everest?",
        "Everest Dağı ne kadar yüksek?",
        "Где находится Москва?",
        "東京の人口は何人ですか",
    ],
)
def test_sentences_of_other_languages(text: str) -> None:
    kind, sure = understands(text)
    assert kind == "language"
    assert sure >= 0.85


@pytest.mark.parametrize(
    "text",
    [
        "Who wrote Emma?",
        "hi, who wrote Emma?",
        "who wrte pride and prejudise",
        "waht is the captial of frnace",
        "Wer ist Goethe's mother?",
        "Who wrote Der Zauberberg?",
        "how do you spell rhythm",
        "who was mxyzptlk",
        "why?",
        "and her mother?",
        "in metres?",
    ],
)
def test_questions_in_any_shape_are_never_refused(text: str) -> None:
    assert understands(text)[0] == "question"


@pytest.mark.parametrize(
    "text",
    [
        "Marie Curie", "Nguyen Van Linh", "Nguyễn Văn Linh", "Krzysztof Kieślowski", "Szczecin", "Qaqortoq", "Thich Nhat Hanh",
        "Die Verwandlung", "La Bohème", "Les Quatre Cents Coups", "Im Westen nichts Neues", "Cien años de soledad",
        "HTTP", "tv", "XKCD", "BBC", "1984", "42", "R2-D2", "東京", "Толстой", "Hey Jude", "Hi (song)", "Hello, Goodbye", "Xochimilco",
    ],
)  # fmt: skip
def test_names_and_topics_are_never_refused(text: str) -> None:
    assert understands(text)[0] == "question"


def test_a_long_text_costs_no_more_than_its_beginning() -> None:
    assert understands("Who wrote Emma? " * 5000) == understands("Who wrote Emma? " * 400)
