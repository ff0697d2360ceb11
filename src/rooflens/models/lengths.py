"""How many positions a model's sequences have: when nobody says, and at most."""

from __future__ import annotations

from rooflens.errors import RooflensError
from rooflens.models.model import Model

DEFAULT_TOKENS = 2048  # context in decode, prompt in prefill, when nobody says
SHORTER, SHORTER_OUTPUT = "ask for a shorter context", "shorten the prompt or the output"


def usual_tokens(model: Model) -> int:
    """Context in decode, prompt in prefill, when nobody says: no more than the model was made for."""
    return DEFAULT_TOKENS if model.max_context is None else min(DEFAULT_TOKENS, model.max_context)


def holds(model: Model, positions: float) -> bool:
    """Whether the model was made for so many, as far as is known."""
    return model.max_context is None or positions <= model.max_context


def within(model: Model, positions: float, instead: str = SHORTER) -> None:
    """Raises RooflensError for more positions than the model was made for."""
    if not holds(model, positions):
        raise RooflensError(
            f"{model.name} was made for {model.max_context} positions, and {positions:.15g} are asked for; {instead}"
        )


def step_within(model: Model, context: float | None, prompt: float | None, output: float | None) -> None:
    """The same for all that sizes a step; None: not said."""
    within(model, context or 0.0)
    within(model, (prompt or 0.0) + (output or 0.0), SHORTER_OUTPUT)
