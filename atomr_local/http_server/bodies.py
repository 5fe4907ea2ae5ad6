"""What requests ask for, checked: bodies in JSON and parameters of the query."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request

from atomr_local.sanitize import sanitize_line
from atomr_local.serving.refused import Refused

_LONGEST_PLACE = 80
_LONGEST_PROBLEM = 200
_Body = TypeVar("_Body", bound=BaseModel)
TraceName = Annotated[str, Field(max_length=64, pattern=r"^[0-9A-Za-z]+$")]
Question = Annotated[str, Field(max_length=2000)]


class Given(BaseModel):
    """A body of our own API: a field that it does not have is an error, so that no wish is passed over in silence."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True)


class Correction(Given):
    """What of an earlier answer is corrected. Steps are named by their numbers in the plan."""

    trace: TraceName = Field(description="Id of the trace of the corrected answer.")
    answers: dict[str, list[str]] = Field({}, max_length=400, description="By step, the answers that the user gives.")
    sources: dict[str, list[str]] = Field({}, max_length=400, description="By step, the only sources that it may use.")
    rerun: list[int] = Field([], max_length=400, description="Steps to run again although they did not change.")


class AskBody(Given):
    """A question and how it is to be answered."""

    question: Question = Field("", description="In English. May be left out with a revision: the corrected question.")
    strategy: str | None = Field(None, max_length=64, description="Reasoning method; default: the server's.")
    sources: list[str] | None = Field(
        None, max_length=16, description="Local sources to use, of those that the server uses; default: all of these."
    )
    web: bool | None = Field(None, description="Whether the web may be searched, if the server allows it.")
    plan: str | dict[str, Any] | None = Field(
        None, description="Run this plan: compact notation, the published JSON, or a whole trace."
    )
    revision: Correction | None = Field(None, description="Corrections of an earlier answer.")
    earlier: list[TraceName] = Field(
        [], max_length=20, description="Ids of the traces of the conversation before, oldest first."
    )
    understood: Question | None = Field(None, description="How a follow-up question is meant; else the model says it.")
    keep: bool = Field(True, description="Whether the history may keep the question.")
    stream: bool = Field(True, description="Events as they come; false: the trace at the end, as JSON.")


async def read_body(request: Request, kind: type[_Body]) -> _Body:
    """The request's body.

    Raises:
        Refused: it is not what it should be; the message names the first field that is wrong.
    """
    try:
        return kind.model_validate_json(await request.body())
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = sanitize_line(".".join(str(part) for part in first["loc"]))[:_LONGEST_PLACE]
        told = sanitize_line(first["msg"])[:_LONGEST_PROBLEM]
        if first["type"] == "json_invalid":
            raise Refused(400, told, hint="Send a JSON object.", code="invalid_json") from None
        raise Refused(400, f"{place}: {told}" if place else told, param=place or None, code=first["type"]) from None


def text_parameter(request: Request, name: str, *, most: int = 2000) -> str:
    """A text of the query.

    Raises:
        Refused: it is missing or too long.
    """
    text = request.query_params.get(name, "")
    if not text.strip():
        raise Refused(400, f"the parameter {name} is missing", param=name)
    if len(text) > most:
        raise Refused(400, f"the parameter {name} has more than {most} characters", param=name)
    return text


def number_parameter(request: Request, name: str, default: int, *, most: int) -> int:
    """A whole number of the query, from 1 to `most`.

    Raises:
        Refused: it is none.
    """
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 16 and 1 <= int(text) <= most):
        raise Refused(400, f"the parameter {name} is no whole number from 1 to {most}", param=name)
    return int(text)
