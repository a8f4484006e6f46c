"""What pages print of the leaderboard's entries is what their recordings earned.

`FIGURES` has, for each page, pieces of it in which every figure is replaced by what it is: `{rate ENTRY}` where the
page prints the success of an entry in per cent. A page may round a figure to the digits that it prints.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path
from statistics import fmean

import pytest

from leaderboard.result import LEDGER_FILE, ReplayResult, read_ledger
from natlang_envs.evaluation.protocols import load_protocol
from natlang_envs.evaluation.runs import TRAJECTORIES_FILE
from natlang_envs.evaluation.statistics import Interval, two_level_interval

ROOT = Path(__file__).parents[1]
PLACE = re.compile(r"\{(\w+) ([\w./-]+)\}")
DASH = "\N{EN DASH}"
NUMBER = r"(\d+(?:\.\d+)?)"


def rate(entry: str) -> str:
    """Success in per cent."""
    return f"{{rate {entry}}}%"


def whole(entry: str, dash: str = " to ", mark: str = "") -> str:
    """Success with its interval, as the board shows it; `mark` stands around the success."""
    return f"{mark}{rate(entry)}{mark} ({{low {entry}}}{dash}{{high {entry}}})"


def mean(series: str) -> str:
    """The mean over all training seeds, the entries SERIES-seed0 and so on."""
    return f"{{mean {series}}}%"


def seeds(series: str, dash: str = " to ") -> str:
    """The mean with the interval over seeds and tasks, as the board shows the row of all seeds."""
    return f"{mean(series)} ({{below {series}}}{dash}{{above {series}}})"


def bold(series: str) -> str:
    """As `seeds`, the mean in bold."""
    return f"**{mean(series)}** ({{below {series}}}{DASH}{{above {series}}})"


def cells(series: str, mark: str = "", count: int = 3) -> str:
    """A cell for each seed, each in bold where `mark` says so."""
    return " | ".join(f"{mark}{whole(f'{series}-seed{seed}')}{mark}" for seed in range(count))


PICKUP, DROPOFF, TOMATO = "dangerous-taxi-pickup", "dangerous-taxi-dropoff", "alfworld-tomato/v1"
SMOLLM2 = f"{PICKUP}/v1/smollm2"
SMOLLM2_CITIES = "cities/v1/smollm2-deliveries-sft-only-published-seed1"
SMOLLM2_PICKUPS, SMOLLM2_DELIVERIES = f"{PICKUP}-{SMOLLM2_CITIES}", f"{DROPOFF}-{SMOLLM2_CITIES}"
SMOLLM2_CPU = f"{PICKUP}-cities/v1/smollm2-cities-sft-only-published-seed0"
KNOWN = "autoexplore-known"
DEPTH1 = "autoexplore-depth1/v1"
DEPTH2 = "autoexplore-depth2/v1"
SMOLLM2_DEPTH1, SMOLLM2_DEPTH2 = (f"{board}/smollm2-sft-only-published-seed0" for board in (DEPTH1, DEPTH2))
SMOLLM2_TOMATO = f"{TOMATO}/smollm2-tomato-sft-only-published-seed0"
ALFWORLD = "alfworld-generated/v1/reflect-rl-tiny-sft-only"
SEARCH, SEARCH_HARD = "autoexplore-search/v1", "autoexplore-search-hard/v1"
CHANGE = ("autoexplore-change-line/v1", "autoexplore-change-file/v1", "autoexplore-change/v1")

FIGURES = {
    "benchmarks/results/autoexplore_known.md": [
        *(
            f"{row} | {' | '.join(whole(f'{KNOWN}{each}/v1/{name}') for each in ('-depth1', '-depth2', '', '-hard'))} |"
            for row, name in (
                ("| random-legal", "random-legal"),
                ("(reference line)", "bm25"),
                ("in place of the memory", "recall-texts"),
                ("words as the judge", "recall-words"),
            )
        ),
        f"---| | random-legal | {' | '.join(whole(f'{board}/random-legal') for board in (DEPTH1, DEPTH2, SEARCH))} |"
        f" | `first-hit-reader`, unlearned | | | {whole(f'{SEARCH}/first-hit-reader')} |",
        f"seed 0 | {whole(f'{DEPTH1}/walker-imitation-seed0')} | not played |"
        f" {whole(f'{SEARCH}/searcher-imitation-seed0')} |",
        f"it reads what lies near | {' | '.join(whole(f'{board}/recall-words') for board in (DEPTH1, DEPTH2))} | |",
        f"is remembered | {' | '.join(whole(f'{board}/recall-names') for board in (DEPTH1, DEPTH2, SEARCH))} |",
        "by a learned policy | "
        + " | ".join(whole(f"{KNOWN}{board}/v1/recall-reflect-rl-seed0") for board in ("-depth1", "-depth2", "")),
        "untuned SmolLM2's lift | "
        + " | ".join(whole(f"{KNOWN}{board}/v1/recall-smollm2") for board in ("-depth1", "-depth2", "")),
        "taught from 250 questions, the plan | "
        + " | ".join(whole(f"{KNOWN}{board}/v1/recall-judge") for board in ("-depth1", "-depth2")),
        f"by a learned policy | {whole(f'{KNOWN}-depth1/v1/recall-judge-reflect-rl-seed0')} | not played",
        f"(70 to 82) | {whole(f'{KNOWN}-depth2/v1/recall-judge-400', mark='**')} |",
        "by a learned policy, seed 0 | "
        + " | ".join(whole(f"{KNOWN}{board}/v1/recall-judge-400-reflect-rl-seed0") for board in ("-depth1", "-depth2")),
    ],
    "benchmarks/results/taxi_unseen_cities.md": [
        f"| pickup, SFT only | greedy | {cells(f'{PICKUP}-cities/v1/reflect-rl-tiny-sft-only')} |"
        f" {seeds(f'{PICKUP}-cities/v1/reflect-rl-tiny-sft-only')} |",
        f"| **pickup, Reflect-RL best** | greedy | {cells(f'{PICKUP}-cities/v1/reflect-rl-tiny-best', '**')} |"
        f" **{seeds(f'{PICKUP}-cities/v1/reflect-rl-tiny-best')}** |",
        f"| dropoff, SFT only | greedy | {cells(f'{DROPOFF}-cities/v1/reflect-rl-tiny-sft-only', count=2)} |"
        f" not trained | {seeds(f'{DROPOFF}-cities/v1/reflect-rl-tiny-sft-only')} |",
        f"| **dropoff, Reflect-RL best** | greedy | {cells(f'{DROPOFF}-cities/v1/reflect-rl-tiny-best', '**', 2)} |"
        f" not trained | **{seeds(f'{DROPOFF}-cities/v1/reflect-rl-tiny-best')}** |",
    ],
    "benchmarks/results/table2.md": [
        f"| random | | {whole(f'{PICKUP}/v1/random')} | | {whole(f'{DROPOFF}/v1/random')} | |"
        f" {whole(f'{TOMATO}/random')} |",
        f"| random-legal | | {whole(f'{PICKUP}/v1/random-legal')} | | {whole(f'{DROPOFF}/v1/random-legal')} |",
        f"| SFT only, best | 100, 100, 96 ({{won {PICKUP}/v1/reflect-rl-tiny-sft-only}}, 81, 72) |"
        f" 100, 96, 96 ({{won {DROPOFF}/v1/reflect-rl-tiny-sft-only}}, 49, 51) |"
        f" {{won {TOMATO}/reflect-rl-tiny-sft-only}}, 36, 32",
        f"| Reflect-RL faithful | 87, 83, 83 ({{won {PICKUP}/v1/reflect-rl-tiny-faithful}}, 83, 80) |"
        f" 92, 92, 83 ({{won {DROPOFF}/v1/reflect-rl-tiny-faithful}}, 92, 82) |"
        f" {{won {TOMATO}/reflect-rl-tiny-faithful}}, 36, 31",
        f"| Reflect-RL best | 100, 100, 97 ({{won {PICKUP}/v1/reflect-rl-tiny-best}}, 100, 96) |"
        f" 100, 96, 96 ({{won {DROPOFF}/v1/reflect-rl-tiny-best}}, 96, 95) |"
        f" {{won {TOMATO}/reflect-rl-tiny-best}}, 38, 31",
    ],
    "benchmarks/results/gain.md": [
        f"| Taxi pickup, teacher slips, 100 demonstrations | sampled | {seeds(f'{PICKUP}/v1/sft-slips-100')} |"
        f" {seeds(f'{PICKUP}/v1/reflect-rl-slips-100')} |",
    ],
    "benchmarks/results/alfworld_agent.md": [
        f"(`alfworld-generated/v1`) | greedy | {cells(ALFWORLD, '**')} | {seeds(ALFWORLD)} |",
    ],
    "benchmarks/results/autoexplore_learned.md": [
        f"| any depth, natural, 604 | {DASH} | {rate('autoexplore/v1/bm25')} | {DASH} | {DASH} |"
        f" {whole('autoexplore/v1/listing-search', DASH)} |",
    ],
    "benchmarks/results/autoexplore_search.md": [
        f"| `first-hit`, unlearned | 35% | 16% | 0 | 4.3 | {whole(f'{SEARCH}/first-hit', DASH)} |"
        f" {whole(f'{SEARCH_HARD}/first-hit', DASH)} |",
        f"| `first-hit-reader`, unlearned | 45% | 19% | 8.0 | 14.0 | {whole(f'{SEARCH}/first-hit-reader', DASH)} |"
        f" {whole(f'{SEARCH_HARD}/first-hit-reader', DASH)} |",
        f"6.5, 6.2 | 14.0 | {bold(f'{SEARCH}/searcher-imitation')} | {bold(f'{SEARCH_HARD}/searcher-imitation')} |",
        f"6.5, 6.2 | 14.0 | {seeds(f'{SEARCH}/searcher-reward', DASH)} |"
        f" {seeds(f'{SEARCH_HARD}/searcher-reward', DASH)} |",
        f"| all | 1 to 4 | {rate(f'{SEARCH}/bm25')} | {rate(f'{SEARCH_HARD}/bm25')} |",
        f"| depth 1, imitation, 3 seeds | 31.7% | 15.4% | {seeds('autoexplore-depth1/v1/walker-imitation', DASH)} |"
        f" {seeds('autoexplore-depth1-hard/v1/walker-imitation', DASH)} |",
    ],
    "benchmarks/results/autoexplore_change_learned.md": [
        *(
            f"{named} | {' | '.join(whole(f'{board}/{name}', DASH) for board in CHANGE)} |"
            for named, name in (("| `random-edit`", "random-edit"), ("on a line", "spectrum"))
        ),
        f"| **judge, imitation**, 3 seeds | {bold(f'{CHANGE[0]}/mender-imitation')} |"
        f" {seeds(f'{CHANGE[1]}/mender-imitation', DASH)} | {seeds(f'{CHANGE[2]}/mender-imitation', DASH)} |",
        f"| then reward: line, file, whole, 3 seeds | {seeds(f'{CHANGE[0]}/mender-reward', DASH)} |"
        f" {seeds(f'{CHANGE[1]}/mender-reward', DASH)} | {bold(f'{CHANGE[2]}/mender-reward')} |",
        f"| then as much reward on the whole alone, 3 seeds | {seeds(f'{CHANGE[0]}/mender-direct', DASH)} |"
        f" {bold(f'{CHANGE[1]}/mender-direct')} | {seeds(f'{CHANGE[2]}/mender-direct', DASH)} |",
    ],
    "benchmarks/results/smollm2.md": [
        f"| `zero-shot:smollm2` | 0% (0 to 8) | 0% (0 to 8) | {whole(f'{SMOLLM2}-zero-shot')} |"
        f" {whole(f'{DROPOFF}/v1/smollm2-zero-shot')} |"
        f" {whole(f'{TOMATO}/smollm2-zero-shot')} |",
        f"| SFT only, 25 trajectories | | | {whole(f'{SMOLLM2}-sft-faithful-seed0')} |",
        f"100 trajectories** | | | **{whole(f'{SMOLLM2}-sft-only-seed0')}** |"
        f" **{whole(f'{DROPOFF}/v1/smollm2-sft-only-published-seed0')}** | **{whole(SMOLLM2_TOMATO)}** |",
        f"| SFT only, taught pickups on a CPU, seed 0 | {whole(SMOLLM2_CPU)} | |",
        f"on a GPU, seed 1** | **{whole(SMOLLM2_PICKUPS)}** | **{whole(SMOLLM2_DELIVERIES)}** |",
        f"| `zero-shot:smollm2`, untuned, greedy | {whole(f'{PICKUP}-cities/v1/smollm2-zero-shot')} |"
        f" {whole(f'{DROPOFF}-cities/v1/smollm2-zero-shot')} |",
        f"| a random legal command, unlearned | {whole(f'{PICKUP}-cities/v1/random-legal')} |"
        f" {whole(f'{DROPOFF}-cities/v1/random-legal')} |",
        f"on the classic map, {rate(SMOLLM2_PICKUPS)} of pickups and {rate(SMOLLM2_DELIVERIES)} of deliveries in unseen"
        " cities,",
        f"greedily and **{whole(SMOLLM2_TOMATO)} of the test games**",
        f"| SFT of one policy step, drawn, 3 seeds | | | {seeds(f'{SMOLLM2}-one-step-published')} |",
        f"| **Reflect-RL from there, drawn, 3 seeds** | | | **{seeds(f'{SMOLLM2}-reflect-rl-published')}** |",
        f"seed 0 wins {rate(f'{SMOLLM2}-one-step-seed0')} of drawn pickups after one step and"
        f" {rate(f'{SMOLLM2}-reflect-rl-seed0')} after RL",
        f"drawn, they win {rate(f'{SMOLLM2}-one-step-published-seed0')},"
        f" {rate(f'{SMOLLM2}-reflect-rl-published-seed0')} and"
        f" {rate(f'{SMOLLM2}-sft-only-published-seed0')} as well",
        "| SFT only, `sft-faithful`, 100 trajectories | 4% (2 to 10) |"
        f" {cells(f'{SMOLLM2}-sft-only-published')} |"
        f" {seeds(f'{SMOLLM2}-sft-only-published')} |",
        f"| SFT of one policy step | | {cells(f'{SMOLLM2}-one-step-published')} |"
        f" {seeds(f'{SMOLLM2}-one-step-published')} |",
        f"| Reflect-RL from there | | {cells(f'{SMOLLM2}-reflect-rl-published')} |"
        f" **{seeds(f'{SMOLLM2}-reflect-rl-published')}** |",
        f"RL lifts a policy of one imitation step from {seeds(f'{SMOLLM2}-one-step-published')} to"
        f" {seeds(f'{SMOLLM2}-reflect-rl-published')} of drawn pickups, three seeds.",
        f"| `random-legal`, unlearned | {whole(f'{DEPTH1}/random-legal')} | {whole(f'{DEPTH2}/random-legal')} |",
        "| BM25, which reads every file beforehand, unlearned |"
        f" {whole(f'{DEPTH1}/bm25')} | {whole(f'{DEPTH2}/bm25')} |",
        f"of 2,886 weights, imitation, 3 seeds | {seeds(f'{DEPTH1}/walker-imitation')} | |",
        "| **SmolLM2, SFT only, any depth, drawn, as published** |"
        f" **{whole(SMOLLM2_DEPTH1)}** | **{whole(SMOLLM2_DEPTH2)}** |",
        f"imitation wins {rate(SMOLLM2_DEPTH1)} at depth 1 and {rate(SMOLLM2_DEPTH2)} at depth 2.",
    ],
    "benchmarks/results/README.md": [
        f"wins {mean(f'{SMOLLM2}-sft-only-published')} of the taxi's test pickups",
        f"on the classic map, {rate(SMOLLM2_PICKUPS)} and {rate(SMOLLM2_DELIVERIES)} in unseen cities,"
        f" {rate(SMOLLM2_TOMATO)} of",
        f"from {mean(f'{SMOLLM2}-one-step-published')} to {mean(f'{SMOLLM2}-reflect-rl-published')} of drawn pickups",
        f"by imitation: {mean(ALFWORLD)} of fresh games",
        f"{mean(f'{PICKUP}-cities/v1/reflect-rl-tiny-best')} of pickups and of deliveries in fresh cities, greedy.",
        f"is open: {mean(f'{CHANGE[0]}/mender-imitation')} of test bugs, a privileged spectrum-based repair"
        f" {rate(f'{CHANGE[0]}/spectrum')}. Of the whole {mean(f'{CHANGE[2]}/mender-imitation')}, spectrum"
        f" {rate(f'{CHANGE[2]}/spectrum')}, random {rate(f'{CHANGE[2]}/random-edit')}.",
    ],
}


@cache
def ledger() -> dict[str, ReplayResult]:
    return read_ledger(ROOT / "leaderboard" / LEDGER_FILE)


@cache
def result(entry: str) -> ReplayResult:
    """Return what the recording of an entry earned; the ledger's line must be of this very recording."""
    found = ledger()[entry]
    recording = (ROOT / "leaderboard/submissions" / entry / TRAJECTORIES_FILE).read_bytes()
    assert hashlib.sha256(recording).hexdigest() == found.trajectories_sha256
    return found


def value(statistic: str, name: str) -> float:
    """Return a statistic of an entry, or of the training seeds of a series."""
    if statistic == "won":
        return result(name).outcomes.count("1")
    if statistic in {"rate", "low", "high"}:
        return 100 * getattr(result(name), "success_rate" if statistic == "rate" else statistic)
    mean, (low, high) = of_seeds(name)
    return 100 * {"mean": mean, "below": low, "above": high}[statistic]


@cache
def of_seeds(name: str) -> tuple[float, Interval]:
    results = [result(entry) for entry in ledger() if re.fullmatch(rf"{name}-seed\d+", entry)]
    protocol = load_protocol(name.rpartition("/")[0])
    rates = [[fmean(episodes) for episodes in each.by_task(protocol).values()] for each in results]
    return fmean(each.success_rate for each in results), two_level_interval(rates)


def unlike(page: str, words: str) -> list[str]:
    """Return what a page prints otherwise than the recordings say; a piece must stand in it once."""
    pieces = PLACE.split(words)
    pattern = "".join(NUMBER if at % 3 else re.escape(piece) for at, piece in enumerate(pieces) if at % 3 != 2)
    found = re.findall(pattern, page)
    if len(found) != 1:
        return [f"{len(found)} times in the page: {pattern}"]
    printed = found[0] if isinstance(found[0], tuple) else (found[0],)
    wrong: list[str] = []
    for figure, (statistic, name) in zip(printed, PLACE.findall(words), strict=True):
        digits = len(figure.partition(".")[2])
        if abs(float(figure) - value(statistic, name)) > 0.5 * 10**-digits + 1e-9:
            wrong.append(f"{figure} is printed, {statistic} of {name} is {value(statistic, name):.3f}")
    return wrong


@pytest.mark.parametrize("page", FIGURES)
def test_the_figures_of_a_page_are_those_of_the_recordings(page: str) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert [line for words in FIGURES[page] for line in unlike(text, words)] == []


def test_a_wrong_figure_is_noticed() -> None:
    words = f"BM25 wins {rate('autoexplore/v1/bm25')}."
    assert unlike("BM25 wins 63%.", words) == unlike("BM25 wins 62.7%.", words) == []
    assert unlike("BM25 wins 64%.", words) == ["64 is printed, rate of autoexplore/v1/bm25 is 62.748"]
    assert unlike("BM25 wins 62.6%.", words)
    assert unlike("BM25 wins.", words)


def test_each_figure_of_the_readme_links_to_the_row_that_it_is_of() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    linked = re.findall(r"\[(\d+)%?\]\(leaderboard/submissions/([^)]+)\)", text)
    assert len(linked) > 10
    rates = {row: 100 * result(row).success_rate for _, row in linked}
    wrong = [f"{row}: {rates[row]}, not {figure}" for figure, row in linked if round(rates[row]) != int(figure)]
    assert wrong == []
