"""One short description for each row of the tables that no topic is about: what tells it from others of its name."""

from __future__ import annotations

from pocket.facts import Knowledge
from pocket.tables import Entity


def describe(knowledge: Knowledge, entity: Entity) -> str:
    """Such as "human settlement in Germany"; "" for what is only mentioned."""
    if entity.description:
        return entity.description
    kind = next(iter(knowledge.values(entity.key, "instance of")), "")
    where = " and ".join(map(knowledge.label, knowledge.values(entity.key, "country")))
    if capitals := knowledge.values(entity.key, "capital of"):
        return f"capital of {' and '.join(map(knowledge.label, capitals))}"
    return f"{kind} in {where}" if kind and where else kind if entity.table else ""
