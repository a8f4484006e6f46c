"""Chat models that play: `--agent react:MODEL`, `tools:MODEL` and `chat:MODEL`, behind an OpenAI-compatible endpoint.

`react` writes a thought and an action, with the whole path in each prompt. `tools` calls a tool, with the same prompt.
`chat` is asked as `react`, in a conversation that grows: each request begins with the one before, which servers cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import partial
from importlib import resources
from typing import Any, Literal

from natlang_envs.answers import read_answer
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput, Decision
from natlang_envs.evaluation.chat_endpoint import ChatEndpoint, RefusedPromptError
from natlang_envs.evaluation.chat_response import Bill, ChatReply
from natlang_envs.evaluation.chat_settings import ChatSettings, read_settings
from natlang_envs.evaluation.model_requests import UNREAD, Requests
from natlang_envs.prompt import chat_messages

Form = Literal["react", "tools", "chat", "copilot"]
_AT_ONCE = 8  # requests in flight for a batch of episodes
_MOST_NAMED = 250  # commands in the schema of a tool
_TOOL = "act"
_HOW = {
    "react": "Answer with a line that begins with `Action:` and holds one of the actions, word for word.",
    "tools": "Call `act` once, with one of the actions, word for word.",
    "inspect": "Answer with one of the actions, word for word, and nothing else.",
    "copilot": "Write one command, on a line that begins with `Action:`.",
}


class ChatPlayer:
    """A chat model that plays; the endpoint samples its words, so every run of a protocol is played.

    An answer without a command, or with several that have equal right, is played as `[no command]` or `[ambiguous]`,
    and one that its limit of tokens cut as `[unfinished]`: environments understand none of these. The next prompt says
    so. A prompt that the provider never takes is fitted by showing fewer steps; else the rest of the episode is
    `[context]` or `[refused]`. The recorded reflection is then the mark with the answer, or the provider's refusal.

    Args:
        model: The model's name.
        form: `react`, `tools` or `chat`.
        settings: How it is asked.

    Raises:
        UsageError: The form is `chat` and the history `commands`.
    """

    sampling = True

    def __init__(self, model: str, form: Form = "react", settings: ChatSettings | None = None) -> None:
        self._form, self._settings = form, settings or ChatSettings()
        if form == "chat" and self._settings.history == "commands":
            raise UsageError("agent chat keeps the conversation: set history to full, none or a number of steps")
        allow_more = "timeout=SECONDS, or NATLANG_TIMEOUT"
        self._endpoint = ChatEndpoint(model, self._settings, agent=form, allow_more=allow_more)
        self._pool = ThreadPoolExecutor(_AT_ONCE)
        self.model_settings = {"form": form, "model": model, **self._settings.as_texts()}

    def act(self, views: Sequence[AgentInput]) -> list[Decision]:
        if len(views) == 1:
            return [self._decide(views[0])]
        asked = [self._pool.submit(self._decide, view) for view in views]
        wait(asked, return_when=FIRST_EXCEPTION)
        went = [each for each in asked if not each.cancel()]
        wait(went)  # what is in flight is paid for: it is kept
        for error in (each.exception() for each in went):
            if error is not None:
                raise error
        return [each.result() for each in went]

    def _decide(self, view: AgentInput) -> Decision:
        step = len(view.path)
        if (ended := view.requests.ended) is not None:
            return Decision(f"[{ended}]", f"[{ended}]")
        return decision_of(view, view.requests.answered(step) or self._ask(view, step))

    def _ask(self, view: AgentInput, step: int) -> Mapping[str, Any]:
        """Ask for a step, with fewer steps of the path while the prompt is too long, and return what was kept of it."""
        requests = view.requests
        shown, before = self._most_shown(step), requests.answered(step - 1)
        if before and before["shown"] < self._most_shown(step - 1):
            shown = before["shown"]  # more was too long then
        tools = [_tool(view)] if self._form == "tools" else []
        new = self._now(view)
        while True:
            requests.check()
            try:
                failed = partial(requests.fail, step)
                done = self._endpoint.ask(self._messages(view, shown, new), tools, failed)
            except RefusedPromptError as error:
                if error.kind == "context" and shown:
                    shown = shown * 3 // 4
                    continue
                return requests.keep(step, Bill(), ended=error.kind, said=str(error))
            except UsageError as error:
                raise UsageError(f"{error}{requests.remedy}") from None
            facts = {"new": new} if self._form == "chat" else {}
            return requests.keep(step, done.bill, message=done.message, cut=done.cut, shown=shown, **facts)

    def _most_shown(self, step: int) -> int:
        history = self._settings.history
        return step if history == "full" else min(history, step) if isinstance(history, int) else 0

    def _messages(self, view: AgentInput, shown: int, new: str) -> list[dict[str, str]]:
        step, form = len(view.path), "tools" if self._form == "tools" else "react"
        history = "commands" if self._settings.history == "commands" else shown
        role = resources.files("natlang_envs.evaluation").joinpath(f"{form}.txt").read_text(encoding="utf-8")
        messages = chat_messages(view.prompt(history), view.admissible_commands, role)
        messages[1]["content"] += note(view.requests, step, form)
        if self._form != "chat" or not shown:
            return messages
        turns: list[dict[str, str]] = []
        for each in range(step - shown, step):
            if (kept := view.requests.answered(each)) is None:
                return messages
            text = ChatReply(kept["message"]).text
            turns += [{"role": "user", "content": kept["new"]}, {"role": "assistant", "content": text}]
        if shown < step:
            turns[0]["content"] = f"Task: {view.task}\n{turns[0]['content']}"
        return [messages[0], *turns, {"role": "user", "content": new}]

    def _now(self, view: AgentInput) -> str:
        """Return the next message of a conversation: all at first, then the result of the last command."""
        if not view.path:
            return chat_messages(view.prompt(), view.admissible_commands)[1]["content"]
        feedback, observation = view.path[-1].feedback, view.observation
        shown = observation if feedback in observation else f"{feedback}\n{observation}"
        listed = "\n".join(["Actions:", *(f"- {command}" for command in view.admissible_commands)])
        return f"Observation: {shown}\n{listed}{note(view.requests, len(view.path), 'react')}"


def decision_of(view: AgentInput, kept: Mapping[str, Any]) -> Decision:
    """Return what the answer decides that was kept for this step, and count how it was read."""
    step = len(view.path)
    tokens = view.requests.tokens(step)
    if "ended" in kept:
        view.requests.read(step, kept["ended"])
        return Decision(f"[{kept['ended']}]", f"[{kept['ended']}] {kept['said']}", tokens)
    reading = read_answer(kept["message"], view.admissible_commands, free=view.free)
    problem = "unfinished" if kept["cut"] else reading.problem
    view.requests.read(step, problem or reading.form)
    if problem or reading.command is None:
        return Decision(f"[{problem}]", f"[{problem}] {ChatReply(kept['message']).text}", tokens)
    return Decision(reading.command, reading.rest.removeprefix("Thought:").strip() or None, tokens)


def note(requests: Requests, step: int, form: str) -> str:
    """Return what a prompt says of an answer before that was not read."""
    before = requests.answered(step - 1)
    why = UNREAD.get(before.get("form", "")) if before else None
    return f"\n\nYour last answer {why}, so it was not understood. {_HOW[form]}" if why else ""


def _tool(view: AgentInput) -> dict[str, Any]:
    """Return the tool whose argument is one of the listed commands, or any text where others are understood too."""
    listed = view.admissible_commands
    free = view.free is not None or not 0 < len(listed) <= _MOST_NAMED
    choice = {} if free else {"enum": list(listed)}
    command = {"type": "string", "description": "The action, word for word.", **choice}
    schema = {"type": "object", "properties": {"command": command}, "required": ["command"]}
    about = {"name": _TOOL, "description": "Take one action.", "parameters": schema}
    return {"type": "function", "function": about}


def _load(form: Form, argument: str) -> ChatPlayer:
    model, settings = read_settings(argument, form)
    return ChatPlayer(model, form, settings)


load_react, load_tools, load_chat = (partial(_load, form) for form in ("react", "tools", "chat"))
