"""A tiny model for any environment: made of its prompts, so that it can read the words that tell its states apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from natlang_envs.errors import UsageError
from natlang_envs.prompt import History, enumerate_actions, policy_prompt
from reference_agent.collection import Report, collect
from reference_agent.curriculum import Environment, Stage, for_learning
from reference_agent.data_set import Example
from reference_agent.models.language_model import LanguageModel
from reference_agent.run.config import CollectConfig, ModelConfig, WarmupConfig
from reference_agent.run.progress import ProgressLines, Say, say
from reference_agent.sft import learned
from reference_agent.state import StateFunction
from reference_agent.teachers.base import Teacher
from reference_agent.tiny.warmup import Added, replaced, warm_up

_GAMES = 30  # of the teacher, whose prompts are read
_WORDS, _NAMES = 300, 700  # that are single tokens: of states and reflections, and of commands
_COPIES = 150  # steps of repeating, at most
_ENDLESS = 100_000  # steps of labels, which end by themselves: where they are read well, or
_PATIENCE = 600  # steps after the last that helped
_LISTED, _LEVELS = 2, 5  # commands at first, of which a new model finds the named one soonest; then twice as many
_BATCH = 32
_POSITIONS = 2048  # which cost nothing: they are angles
CANNOT_READ = (
    "the tiny model does not learn to find the label of a named command here: take a larger one, such as "
    "load_model('smollm2')"
)
_PART, _WORD = re.compile(r"\w+"), re.compile(r"\w*[^\W\d_]\w*")


def tiny_for(
    env: Environment | Stage,
    teacher: Teacher | str = "oracle",
    *,
    history: History = 1,
    seed: int = 1,
    steps: int | None = None,
    say: Say = say,
    state: StateFunction | None = None,
) -> LanguageModel:
    """Return a tiny model that reads an environment and finds the label of a named command.

    That takes one to three minutes of a core where prompts are short. The teacher plays, for the words and the shape of
    prompts: what it chooses is not learned.

    Args:
        env: An environment's id, a function that makes a `NatLangEnv`, or a stage with arguments. An id's tasks are of
            the split `"train"`.
        teacher: A function from a `Moment` to a reflection and an action, or the name of a registered teacher.
        history: How much of the path p(s) shows; see `natlang_envs.prompt.state_prompt`.
        seed: Seed of the weights and lessons.
        steps: The most updates of the lesson on labels; by default it ends where they are read well.
        state: A function of task, path, observation and commands that returns p(s), in place of `history`.
        say: Called with a line of progress now and then, and at the end with what was learned beside chance.

    Raises:
        UsageError: The environment lists no commands, `steps` is below 1, it does not learn to read its labels, or as
            in `collect`.
    """
    if steps is not None and steps < 1:
        raise UsageError(f"steps is {steps}: give 1 or more")
    told, samples = ProgressLines(say), played(env, teacher, history, state)
    model = new_tiny(samples, seed)
    told.check(lambda: learned(model, samples), now=True)
    reads = teach_to_read(model, samples, _COPIES, steps, seed, told.step)
    told.check(lambda: learned(model, samples), now=True)
    if steps is None and not reads:
        raise UsageError(CANNOT_READ)
    return model


def new_tiny(samples: Sequence[Example], seed: int = 1) -> LanguageModel:
    """Return a tiny model that has learned nothing, with the tokens of these examples."""
    prompts = [policy_prompt(each.state, each.reflection, enumerate_actions(each.commands)) for each in samples]
    commands = max(len(each.commands) for each in samples)
    if not commands:
        raise UsageError("the environment lists no commands, which the tiny model chooses from: load_model('smollm2')")
    config = ModelConfig(mimetic=True, positions=_POSITIONS)
    return LanguageModel.tiny(config, prompts, telling_words(samples), seed, max(26, commands))


def teach_to_read(
    model: LanguageModel, samples: Sequence[Example], copies: int, steps: int | None, seed: int, report: Report
) -> bool:
    """Teach a tiny model to repeat a named command, and to find its label; return whether it finds them all.

    `copies` and `steps` are the most updates of either lesson; None for as long as they help.
    """
    levels = max(_LEVELS, (max(len(each.commands) for each in samples) - 1).bit_length())
    most = _ENDLESS if steps is None else steps
    lessons = WarmupConfig(copy_steps=copies, steps=most, levels=levels, seed=seed, batch=_BATCH)
    added = Added(replaced(samples), rounds=2, listed=_LISTED, patience=0 if steps else _PATIENCE)
    done: Counter[str] = Counter()

    def tell(name: str, step: int, total: int, value: float) -> None:
        done[name] += 1  # a lesson that ends early tells its last step
        report(name, done[name], done[name] if step == total else 0 if total == _ENDLESS else total, value)

    return warm_up(model, samples, lessons, tell, lambda *_: added).get("labels", 0) == levels


def played(
    env: Environment | Stage, teacher: Teacher | str, history: History, state: StateFunction | None = None
) -> list[Example]:
    stage = for_learning(env if isinstance(env, Stage) else Stage(env), False)
    made = stage.make()
    games = len(set(islice(made.tasks.ids(), _GAMES)))
    made.close()
    # Mistakes are more to read; in a p(s) that shows no step they cannot be regretted. Nobody learns a verdict here.
    settings = CollectConfig(trajectories=games, policy_trajectories=games, failures=True, unclear=1.0)
    regrets = {"negatives": 0} if history in (0, "none") else {"policy_negatives": True}
    settings = replace(settings, **regrets)
    return collect(stage, teacher, settings, history=history, state=state)


def telling_words(samples: Sequence[Example]) -> list[str]:
    """Return the words of commands, and those that some prompts show and others do not: what a choice may hang on.

    A number is a word of a command, or else its digits.
    """
    # Not of sets: their order differs between processes, and so would which of equally frequent words are taken.
    named = Counter(word for each in samples for word in dict.fromkeys(_PART.findall(" ".join(each.commands))))
    texts = (f"{each.state} {each.reflection}" for each in samples)
    shown = Counter(word for text in texts for word in dict.fromkeys(_WORD.findall(text)))
    apart = [word for word, count in shown.most_common() if count < len(samples)]
    return sorted({*apart[:_WORDS], *(word for word, _ in named.most_common(_NAMES))})
