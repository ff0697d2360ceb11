"""A node that was asked to measure itself and gave no profile: what became of it."""

from __future__ import annotations

from typing import Literal

from rooflens.records import record

SCHEMA = "rooflens/absent/1"
State = Literal["died", "hung", "garbage", "refused"]


@record
class Absent:
    """The file NODE.absent.json that stands where NODE.json would.

    died: its process or its machine ended. hung: no answer within the time. garbage: it answered, and not with a
    profile. refused: it said that it cannot be measured. why: one sentence. attempts: how often it was asked.
    """

    node: str
    state: State
    why: str
    attempts: int = 1

    def __post_init__(self) -> None:
        if not self.node or self.attempts < 1:
            raise ValueError("an absent node has a name and was asked at least once")
