"""How a forger edits an entry, and what a forger can recompute afterwards."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium

from leaderboard.schema import SUBMISSION_FILE
from natlang_envs.evaluation.protocols import load_protocol
from natlang_envs.evaluation.runs import TRAJECTORIES_FILE
from natlang_envs.trajectory import chain

PROTOCOL = "dangerous-taxi-pickup/v1"
Episodes = list[dict[str, Any]]
Facts = dict[str, Any]


class Forged:
    """An entry opened for editing.

    Attributes:
        facts: What `submission.json` holds.
        episodes: What the recording holds.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.facts: Facts = json.loads((folder / SUBMISSION_FILE).read_text(encoding="utf-8"))
        packed = (folder / TRAJECTORIES_FILE).read_bytes()
        self.episodes: Episodes = [json.loads(line) for line in gzip.decompress(packed).decode().split("\n") if line]

    def rehash(self) -> None:
        """Recompute all digests by playing the actions."""
        for episode in self.episodes:
            episode["digest"] = played_digest(episode)

    def save(self, *, redigest: bool) -> None:
        """Write both files; with `redigest` the SHA-256 in `submission.json` fits."""
        self.save_text("".join(map(as_written, self.episodes)).encode("utf-8", "surrogatepass"), redigest=redigest)

    def save_text(self, text: bytes, *, redigest: bool) -> None:
        """Write both files, the lines of the recording as given."""
        self.save_packed(gzip.compress(text, mtime=0), redigest=redigest)

    def save_packed(self, packed: bytes, *, redigest: bool) -> None:
        """Write both files, the recording as given."""
        (self.folder / TRAJECTORIES_FILE).write_bytes(packed)
        if redigest:
            self.facts["trajectories_sha256"] = hashlib.sha256(packed).hexdigest()
        (self.folder / SUBMISSION_FILE).write_text(json.dumps(self.facts), encoding="utf-8")


def as_written(episode: dict[str, Any]) -> str:
    """Return an episode's line as the runner writes it."""
    return json.dumps(episode, ensure_ascii=False, separators=(",", ":")) + "\n"


@cache
def _env() -> gymnasium.Env[str, str]:
    return load_protocol(PROTOCOL).make_env()


def played_digest(episode: dict[str, Any]) -> str:
    """Return the digest that the environment gives for the actions; past the end, of the last text again."""
    env = _env()
    observation, _ = env.reset(seed=0, options={"task_id": episode["task_id"]})
    digest = chain("", observation)
    ended = False
    for action in episode["actions"]:
        if not ended:
            observation, _, terminated, truncated, _ = env.step(action)
            ended = terminated or truncated
        digest = chain(digest, observation)
    return digest


def first(episodes: Episodes, *, success: bool) -> dict[str, Any]:
    """Return the first episode with at least two steps that succeeded, or did not."""
    return next(each for each in episodes if each["success"] is success and len(each["actions"]) > 1)


def change_action(forged: Forged) -> None:
    first(forged.episodes, success=True)["actions"][-1] = "drop off passenger"


def change_action_text(forged: Forged) -> None:
    first(forged.episodes, success=True)["actions"][-1] = "pick up passenger "


def change_reward(forged: Forged) -> None:
    first(forged.episodes, success=False)["rewards"][-1] = 20.0


def reward_not_a_number(forged: Forged) -> None:
    first(forged.episodes, success=False)["rewards"][0] = float("nan")


def change_hash(forged: Forged) -> None:
    first(forged.episodes, success=True)["digest"] = "0" * 64


def hash_of_two_lines(forged: Forged) -> None:
    first(forged.episodes, success=True)["digest"] = "0\n1\x1b[31m\u2028"


def claim_success(forged: Forged) -> None:
    first(forged.episodes, success=False)["success"] = True


def deny_the_end(forged: Forged) -> None:
    first(forged.episodes, success=True)["terminated"] = False


def drop_episode(forged: Forged) -> None:
    del forged.episodes[3]


def drop_failures(forged: Forged) -> None:
    forged.episodes[:] = [each for each in forged.episodes if each["success"]]


def drop_all(forged: Forged) -> None:
    forged.episodes.clear()


def double_episode(forged: Forged) -> None:
    forged.episodes.insert(4, forged.episodes[3])


def double_in_place_of_another(forged: Forged) -> None:
    forged.episodes[3] = forged.episodes[4]


def swap_lines(forged: Forged) -> None:
    forged.episodes[3], forged.episodes[4] = forged.episodes[4], forged.episodes[3]


def swap_actions(forged: Forged) -> None:
    won, lost = first(forged.episodes, success=True), first(forged.episodes, success=False)
    for key in ("actions", "reflections", "rewards", "digest", "success"):
        won[key], lost[key] = lost[key], won[key]


def swap_tasks(forged: Forged) -> None:
    won, lost = first(forged.episodes, success=True), first(forged.episodes, success=False)
    won["task_id"], lost["task_id"] = lost["task_id"], won["task_id"]


def easier_task(forged: Forged) -> None:
    # The shortest task of all, played well, in place of one that was lost.
    lost = first(forged.episodes, success=False)
    won = min((each for each in forged.episodes if each["success"]), key=lambda each: len(each["actions"]))
    lost.update({key: won[key] for key in won if key not in ("seed", "run")})


def task_of_another_split(forged: Forged) -> None:
    forged.episodes[0]["task_id"] = "classic/0.0/red-green"


def change_seed(forged: Forged) -> None:
    forged.episodes[5]["seed"] += 1


def change_run(forged: Forged) -> None:
    forged.episodes[5]["run"] = 1


def truncate(forged: Forged) -> None:
    episode = first(forged.episodes, success=True)
    for key in ("actions", "reflections", "rewards"):
        episode[key].pop()


def no_steps(forged: Forged) -> None:
    forged.episodes[0].update(actions=[], reflections=[], rewards=[])


def step_after_the_end(forged: Forged) -> None:
    episode = first(forged.episodes, success=False)
    episode["actions"].append("pick up passenger")
    episode["reflections"].append(None)
    episode["rewards"].append(20.0)


def lose_a_reward(forged: Forged) -> None:
    first(forged.episodes, success=False)["rewards"].pop()


def lone_surrogate(forged: Forged) -> None:
    forged.episodes[0]["reflections"][0] = "\ud800"


def reward_as_text(forged: Forged) -> None:
    forged.episodes[0]["rewards"][0] = "20.0"


def extra_key_in_episode(forged: Forged) -> None:
    forged.episodes[0]["return"] = 100.0


def episode_is_a_list(forged: Forged) -> None:
    forged.episodes[0] = []  # pyright: ignore[reportArgumentType]


def protocol_digest(forged: Forged) -> None:
    forged.facts["protocol_digest"] = "0" * 64


def other_protocol(forged: Forged) -> None:
    forged.facts["protocol"] = "dangerous-taxi-pickup-cities/v1"


def other_protocol_and_digest(forged: Forged) -> None:
    # The same tasks with twice the steps and another reward.
    other = load_protocol("dangerous-taxi-dropoff/v1")
    forged.facts.update(protocol=other.name, protocol_digest=other.digest)


def unknown_protocol(forged: Forged) -> None:
    forged.facts["protocol"] = "../../../../etc/passwd"


def more_runs(forged: Forged) -> None:
    forged.facts["run"]["runs"] = 2
    forged.episodes += [{**each, "run": 1} for each in forged.episodes]


def extra_key(forged: Forged) -> None:
    forged.facts["success_rate"] = 1.0


def extra_key_in_run(forged: Forged) -> None:
    forged.facts["run"]["score"] = 1.0


def missing_key(forged: Forged) -> None:
    del forged.facts["run"]


def tokens_as_text(forged: Forged) -> None:
    forged.facts["run"]["tokens"] = "7"


def seconds_not_a_number(forged: Forged) -> None:
    forged.facts["run"]["seconds"] = float("nan")


def other_schema_version(forged: Forged) -> None:
    forged.facts["schema_version"] = 3


def script_link(forged: Forged) -> None:
    forged.facts["link"] = "javascript:alert(1)"


def description_of_two_lines(forged: Forged) -> None:
    forged.facts["description"] = "one\ntwo\u202eowt"


def name_of_a_device(forged: Forged) -> None:
    forged.facts["name"] = "con.agent"


def other_name_than_the_folder(forged: Forged) -> None:
    forged.facts["name"] = "oracle"


def privileged_with_a_rank(forged: Forged) -> None:
    forged.facts["run"]["privileged"] = True


def privileged_not_said(forged: Forged) -> None:
    del forged.facts["run"]["privileged"]


def older_schema_with_newer_facts(forged: Forged) -> None:
    forged.facts["schema_version"] = 1


def date_of_no_calendar(forged: Forged) -> None:
    forged.facts["date"] = "tomorrow"


def badge_of_ones_own(forged: Forged) -> None:
    forged.facts["audited"] = True


def unknown_method(forged: Forged) -> None:
    forged.facts["track"] = {"method": "magic"}


def provenance_of_two_lines(forged: Forged) -> None:
    forged.facts["run"]["provenance"]["command"] = "natlang\nevaluate"


def long_action(forged: Forged) -> None:
    first(forged.episodes, success=False)["actions"][-1] = "x" * 4_097


def long_reflection(forged: Forged) -> None:
    forged.episodes[0]["reflections"][0] = "x" * (16 * 1024 + 1)


def reward_of_minus_zero(forged: Forged) -> None:
    forged.episodes[0]["rewards"][0] = -0.0


def whole_number_for_a_reward(forged: Forged) -> None:
    forged.episodes[0]["rewards"][0] = int(forged.episodes[0]["rewards"][0])


def keys_in_another_order(forged: Forged) -> None:
    forged.episodes[0] = dict(reversed(forged.episodes[0].items()))


FORGERIES: tuple[Callable[[Forged], None], ...] = (
    change_action,
    change_action_text,
    change_reward,
    reward_not_a_number,
    change_hash,
    hash_of_two_lines,
    claim_success,
    deny_the_end,
    drop_episode,
    drop_failures,
    drop_all,
    double_episode,
    double_in_place_of_another,
    swap_lines,
    swap_actions,
    swap_tasks,
    easier_task,
    task_of_another_split,
    change_seed,
    change_run,
    truncate,
    no_steps,
    step_after_the_end,
    lose_a_reward,
    lone_surrogate,
    reward_as_text,
    extra_key_in_episode,
    episode_is_a_list,
    protocol_digest,
    other_protocol,
    other_protocol_and_digest,
    unknown_protocol,
    more_runs,
    extra_key,
    extra_key_in_run,
    missing_key,
    tokens_as_text,
    seconds_not_a_number,
    other_schema_version,
    script_link,
    description_of_two_lines,
    name_of_a_device,
    other_name_than_the_folder,
    privileged_with_a_rank,
    privileged_not_said,
    older_schema_with_newer_facts,
    date_of_no_calendar,
    badge_of_ones_own,
    unknown_method,
    provenance_of_two_lines,
    long_action,
    long_reflection,
    reward_of_minus_zero,
    whole_number_for_a_reward,
    keys_in_another_order,
)
# These edit only digests, or leave nothing to play: with all digests recomputed the entry is honest, or unplayable.
NOT_REHASHED = (change_hash, hash_of_two_lines, task_of_another_split, episode_is_a_list)
