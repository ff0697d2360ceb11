"""What is not answered: a status, a sentence, and the language that it is said in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, Response

from rooflens.errors import RooflensError
from rooflens.present.refused import refused
from rooflens.present.words import LANGUAGES
from rooflens.server import hiding

UNANSWERABLE = 422
ABSENT = "there is nothing at this address; the page itself is at /"
ANOTHER_METHOD = "this address answers {allowed} alone; the page asks it so"
BROKEN = "this could not be answered ({fault}); that is a fault of rooflens"


class Refusal(RooflensError):
    """A question that is not answered for what it is or when it came. retry_s: when asking again may help."""

    def __init__(self, sentence: str, status: int = UNANSWERABLE, retry_s: int | None = None) -> None:
        super().__init__(sentence)
        self.status, self.retry_s = status, retry_s

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.status, self.retry_s)


def reply(
    error: Exception, lang: str, status: int = UNANSWERABLE, headers: Mapping[str, str] | None = None
) -> Response:
    """The answer that an error is: one sentence as JSON, in the language, without a path of this machine."""
    more = dict(headers or {})
    if isinstance(error, Refusal):
        status = error.status
        more |= {} if error.retry_s is None else {"Retry-After": str(error.retry_s)}
    return JSONResponse({"error": sentence(error, lang)}, status, more)


def sentence(error: Exception, lang: str) -> str:
    """What is said about it."""
    return refused(hiding.placeless(str(error)), lang)


def language(asked: object, accepted: str = "") -> str:
    """The language to refuse in: the one that was asked in where it is ours, else the first that a browser accepts."""
    if asked in LANGUAGES:
        return str(asked)
    wanted = (part.partition(";")[0].strip().lower().partition("-")[0] for part in accepted[:200].split(","))
    return next((lang for lang in wanted if lang in LANGUAGES), "en")
