"""Which document a question names as the place to look in, and what names none."""

from __future__ import annotations

import pytest

from atomr_local.sources.document_places import PlacedArticle
from atomr_local.sources.text_parts import NamedDocuments

FILES = {
    "hr/travel-policy.md": "Travel and expense policy",
    "hr/parental.md": "Parental leave",
    "hr/handbook-2023.pdf": "Employee handbook",
    "hr/old/handbook.pdf": "Employee handbook",
    "plans/atlas.md": "Atlas migration plan",
    "onboarding.txt": "onboarding.txt",
    "Morning routine.md": "Morning routine",
    "Paris.md": "Paris",
    "United States.md": "United States",
    "us-travel.md": "United States travel guide",
    "First aid.md": "First aid",
}
NAMED = NamedDocuments(PlacedArticle(path, title, path, (path,), None) for path, title in FILES.items())


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("In the travel policy, how much is paid for meals?", "hr/travel-policy.md"),
        ("in our travel policy how much is paid for meals?", "hr/travel-policy.md"),
        ("How much is paid for meals according to the Travel and Expense Policy?", "hr/travel-policy.md"),
        ("According to the parental leave page, how many weeks are paid?", "hr/parental.md"),
        ("How many weeks are paid in the first year according to Parental Leave?", "hr/parental.md"),
        ("From “Parental leave”, how many weeks are paid?", "hr/parental.md"),
        ("Who leads the work in the Atlas migration plan?", "plans/atlas.md"),
        ("Who is to be called according to onboarding?", "onboarding.txt"),
        ("Who is to be called from the file onboarding.txt?", "onboarding.txt"),
        ("Who was born there, according to the note Paris?", "Paris.md"),
        ("What comes first in Morning routine?", "Morning routine.md"),
        ("In the handbook-2023 document, what is the notice period?", "hr/handbook-2023.pdf"),
        ("What is the per diem in the United States travel guide?", "us-travel.md"),
    ],
)
def test_a_question_names_a_document(question: str, path: str) -> None:
    assert NAMED.find(question) == ({path})


@pytest.mark.parametrize(
    "question",
    [
        "What do I do in the morning?",
        "In the morning, what do I do?",
        "What is the capital in the United States?",
        "In the United States, what is the per diem?",
        "Who was born in Paris?",
        "In 1912, who was born?",
        "How many weeks are paid according to the employee handbook?",  # there are two
        "What is said in the first chapter?",
        "What is said in the document?",
        "In the policy, what is said?",
        "In the privacy policy, what is said?",
        "Is the travel policy in force?",
        "How long is parental leave?",
        "From whom is the parental leave page?",
        "in",
        "According to ",
        "",
        "in " * 500,
    ],
)
def test_a_question_names_none(question: str) -> None:
    assert not NAMED.find(question)


def test_all_messages_of_a_mailbox_are_one_document() -> None:
    box = [PlacedArticle(f"in.mbox/{i}", f"Message {i}", "in.mbox", ("in.mbox",), None) for i in (1, 2)]
    named = NamedDocuments(box)
    assert named.find("Who wrote according to in.mbox?") == {"in.mbox/1", "in.mbox/2"}
    assert named.find("Who wrote according to Message 2?") == {"in.mbox/2"}
