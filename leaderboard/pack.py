"""Makes an entry of the leaderboard from a run."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import BaseModel, TypeAdapter

from leaderboard.copies import refuse_copies, refuse_look_alike
from leaderboard.own_protocols import keep_protocol, own_protocol
from leaderboard.rounds import check_live, commitment_file, protocol_of, read_commitment
from leaderboard.schema import (
    SUBMISSION_FILE,
    SUBMISSIONS,
    RunFacts,
    make_submission,
    naming,
    read_as,
    today,
)
from leaderboard.verify import MAX_TRAJECTORIES_BYTES, check, sha256
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.live import find_round
from natlang_envs.evaluation.protocols import load_protocol, protocol_names, split_shortened
from natlang_envs.evaluation.runs import TRAJECTORIES_FILE, Run, read_run_facts
from natlang_envs.files import read_plain, whole_folder, write_whole

_MAX_CURVE_BYTES = 8 * 1024 * 1024
_MOST_POINTS = 100


class _Point(BaseModel):
    episodes: int
    success: float


def pack(
    run_folder: Path,
    *,
    name: str,
    out: Path = SUBMISSIONS,
    description: str = "",
    authors: tuple[str, ...] = (),
    contact: str | None = None,
    link: str | None = None,
    deterministic: bool = False,
    disclosure: str = "",
    model: str | None = None,
    parameters: int | None = None,
    track: dict[str, Any] | None = None,
    reference: bool = False,
    protocol_file: Path | None = None,
) -> Path:
    """Verify a run by replay and write it as an entry.

    Args:
        run_folder: What `natlang evaluate --out` wrote.
        name: The agent's name on the leaderboard; it becomes the name of the entry's folder.
        out: The folder of all entries.
        description: One line for people.
        authors: Names.
        contact: How to reach them.
        link: A page about the agent, http or https.
        deterministic: Whether the agent does the same each time.
        disclosure: What the agent was trained on, and how the protocol's tasks may have got into it.
        model: The language model's name.
        parameters: How many parameters the model has.
        track: What kind of agent it is: the fields of `leaderboard.schema.Track`, its curve by `read_curve`.
        reference: Show it as a reference line, without a rank; the run of a privileged agent always is.
        protocol_file: The file of the protocol that was played, if it is one of your own. It is kept in the folder
            `protocols` beside `out`, where `verify` and `build` find it.

    Returns:
        The entry's folder, `out/<protocol>/<name>`.
    """
    run = read_run_facts(run_folder)
    if run.sampling is None or run.privileged is None:
        raise UsageError(f"{run_folder} was made by an older version: evaluate the agent again")
    if deterministic and run.sampling:
        raise UsageError(f"{run_folder}: its agent drew its commands: leave --deterministic out")
    is_reference = reference or run.privileged
    with naming(run_folder):
        _keep(protocol_file, run, out.parent)
        protocol = protocol_of(run.protocol, out.parent)
        commitment = None
        if find_round(run.protocol) and not is_reference:
            commitment = read_commitment(commitment_file(out.parent, run.protocol, name)).digest
        recording = run_folder / TRAJECTORIES_FILE
        packed = read_plain(recording, MAX_TRAJECTORIES_BYTES)
        submission = make_submission(
            {
                "protocol": run.protocol,
                "protocol_digest": run.protocol_digest,
                "name": name,
                "description": description,
                "authors": authors,
                "contact": contact,
                "link": link,
                "deterministic": deterministic,
                "disclosure": disclosure,
                "model": model,
                "parameters": parameters,
                "run": {name: getattr(run, name) for name in RunFacts.model_fields},
                "trajectories_sha256": sha256(packed),
                "reference": is_reference,
                "track": track,
                "date": today().isoformat(),
                "commitment": commitment,
            }
        )
        check_live(submission, out.parent)
        verified = check(submission, protocol, recording)
        refuse_copies(out, submission, verified.result, recording)
        refuse_look_alike(out, submission.protocol, submission.name)
    entry = out / submission.protocol / submission.name
    if entry.exists():
        raise UsageError(f"{entry} already exists: choose another --name, or delete it")
    with whole_folder(entry) as folder:
        write_whole(folder / TRAJECTORIES_FILE, packed)
        write_whole(folder / SUBMISSION_FILE, submission.to_json().encode())
    return entry


def _keep(file: Path | None, run: Run, beside: Path) -> None:
    """Keep the protocol of one's own that a run played, if it is not kept yet."""
    whole, episodes = split_shortened(run.protocol)
    ours = find_round(whole) is None and whole not in protocol_names()
    if ours and episodes is not None:
        raise UsageError(f"it is a try of {whole}, its first {episodes} episodes: evaluate without --episodes")
    if file is None:
        if ours and own_protocol(whole, beside) is None:
            raise UsageError(f"it was played on {whole}, a protocol of your own: add --protocol FILE")
        return
    protocol = load_protocol(str(file))
    if (protocol.name, protocol.digest) != (run.protocol, run.protocol_digest):
        was, now = f"{run.protocol}, digest {run.protocol_digest[:12]}…", f"{protocol.name}, {protocol.digest[:12]}…"
        raise UsageError(f"it was played on {was}, and {file} holds {now}: give the file that was played")
    keep_protocol(protocol, beside)


def read_curve(path: Path) -> tuple[tuple[int, float], ...]:
    """Return the learning curve in a file: for each point, the episodes of training so far and their success rate.

    Args:
        path: A JSON list of objects with `episodes`, a count that grows, and `success`, from 0 to 1, such as the
            `curve.json` of `reflect-rl train`. A list of more than 100 points is thinned to means of neighbours.
    """
    if not path.is_file():
        raise UsageError(f"{path} is no file: give the curve.json of reflect-rl train")
    rows = read_as(path, TypeAdapter(list[_Point]), _MAX_CURVE_BYTES)
    together = max(1, -(-len(rows) // _MOST_POINTS))
    parts = [rows[at : at + together] for at in range(0, len(rows), together)]
    return tuple((part[-1].episodes, fmean(each.success for each in part)) for part in parts)
