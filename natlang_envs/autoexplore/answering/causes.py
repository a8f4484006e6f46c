"""Why a command does nothing in AutoExplore-Answer, or ends it without success, and what was meant."""

from __future__ import annotations

from natlang_envs.autoexplore import causes
from natlang_envs.autoexplore.answering.episode import AnswerEpisode
from natlang_envs.autoexplore.episode import ExploreEpisode
from natlang_envs.autoexplore.searching import causes as searching
from natlang_envs.env import Outcome
from natlang_envs.repository.texts import EXIT, unknown_command
from natlang_envs.why import Why, misspelt


def why(episode: AnswerEpisode, command: str, outcome: Outcome) -> Why | None:
    """Return why a command did nothing, or ended the episode without success.

    Args:
        episode: As it is after the command.
        command: As given.
        outcome: What it led to.
    """
    verb = command.partition(" ")[0]
    if not outcome.feedback.startswith(unknown_command(command)):
        if episode.form == "text" and verb == "cite" and "nothing was done" in outcome.feedback:
            return Why("not offered", "At most three lines can be cited, each once, and after `cat` has shown it.")
        if not outcome.terminated or outcome.success:
            return None
        if command == EXIT:
            return Why("left", "The search ended without an answer.")
        given = episode.score is not None
        return Why("wrong answer", "The answer is not right, or no citation supports it.") if given else None
    if verb in ("id", "answer", "cite", "quote", "pick", "done"):
        given = "an answer ends the search: answer TEXT" if episode.form == "text" else "done gives the words picked"
        return Why("not offered", f"This cannot be done here; {given}.")
    if episode.opened:
        meant = misspelt(command, episode.commands) or ""
        return Why("spelling" if meant else "not offered", "Only what is listed can be done in an open file.", meant)
    if isinstance(episode.inner, ExploreEpisode):
        return causes.why(episode.inner.place, command, outcome)
    return searching.why(episode.inner, command, outcome)
