"""Draw an episode of DangerousTaxi as docs/episode.gif: `python docs/record_episode.py`.

Pillow and the typeface come with matplotlib, in the extra `agent`. The map on the left is read from the observation
alone, so the picture shows what the text says and no more.
"""

from __future__ import annotations

import io
import re
import textwrap
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import gymnasium
from PIL import Image, ImageDraw, ImageFont

import natlang_envs

ENV = "NatLang/DangerousTaxi-Dropoff-v0"
SEED = 65
PICTURE = Path(__file__).parent / "episode.gif"

SIZE = (860, 440)
CELL = 58
LEFT, TOP = 24, 76  # of the map
TEXT = 340  # where the text begins
WIDTH = 62  # characters of a line of text
LINE = 19
GROUND, PAPER, INK, DIM, WALL = "#1b1f27", "#262c36", "#e6e6e6", "#8b95a5", "#e6e6e6"
GOOD, COMMAND, TAXI = "#7fd17f", "#8ab4f8", "#f2c230"
LANDMARKS = {"Red": "#c8453b", "Green": "#3f9a53", "Yellow": "#b8912a", "Blue": "#3f6fc0"}

PLACE = re.compile(r"(The taxi|Red|Green|Yellow|Blue) is at row (\d+), column (\d+)")
WALLS = re.compile(r"between columns (\d+) and \d+ in rows? (\d+)(?: to (\d+))?")
WAITS = re.compile(r"The passenger waits at (\w+)")
GOAL = re.compile(r"The destination is (\w+)")


@dataclass(frozen=True)
class Frame:
    """What is known after a step: the text, the commands with their rewards, and the command that comes next."""

    observation: str
    path: tuple[tuple[str, float], ...]
    coming: str | None


def episode() -> list[Frame]:
    """Play the oracle's plan."""
    env = gymnasium.make(ENV, disable_env_checker=True)
    observation, _ = env.reset(seed=SEED)
    plan = natlang_envs.unwrap(env).oracle()
    frames: list[Frame] = []
    path: list[tuple[str, float]] = []
    for command in plan:
        frames.append(Frame(observation, tuple(path), command))
        observation, reward, *_ = env.step(command)
        path.append((command, float(reward)))
    return [*frames, Frame(observation, tuple(path), None)]


def font(size: int, weight: str = "") -> ImageFont.FreeTypeFont:
    """Load the typeface that matplotlib carries, so that every machine draws the same."""
    file = resources.files("matplotlib") / f"mpl-data/fonts/ttf/DejaVuSansMono{weight}.ttf"
    return ImageFont.truetype(io.BytesIO(file.read_bytes()), size)


def draw(frame: Frame, task: str) -> Image.Image:
    image = Image.new("RGB", SIZE, GROUND)
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 0, SIZE[0], 34), fill=PAPER)
    for i, colour in enumerate(("#c8453b", "#b8912a", "#3f9a53")):
        pen.ellipse((14 + 20 * i, 12, 24 + 20 * i, 22), fill=colour)
    pen.text((84, 9), ENV, font=font(14), fill=DIM)
    draw_map(pen, frame.observation)
    draw_text(pen, frame, task)
    return image


def draw_map(pen: ImageDraw.ImageDraw, observation: str) -> None:
    pen.text((LEFT, 48), "The map (the agent gets only the text)", font=font(11), fill=DIM)
    places = {name: (int(row), int(column)) for name, row, column in PLACE.findall(observation)}
    for row in range(5):
        for column in range(5):
            pen.rectangle(cell(row, column), fill=PAPER, outline=GROUND)
    goal = GOAL.search(observation)
    waits = WAITS.search(observation)
    for name, colour in LANDMARKS.items():
        x0, y0, x1, y1 = cell(*places[name])
        pen.rectangle((x0 + 2, y0 + 2, x1 - 2, y1 - 2), fill=colour)
        if goal is not None and goal.group(1) == name:
            pen.text((x0 + 6, y0 + 4), "goal", font=font(11, "-Bold"), fill=INK)
    for column, first, last in WALLS.findall(observation):
        x = LEFT + (int(column) + 1) * CELL
        pen.line((x, TOP + int(first) * CELL, x, TOP + (int(last or first) + 1) * CELL), fill=WALL, width=5)
    pen.rectangle((LEFT, TOP, LEFT + 5 * CELL, TOP + 5 * CELL), outline=WALL, width=3)
    x0, y0, x1, y1 = cell(*places["The taxi"])
    pen.rounded_rectangle((x0 + 12, y0 + 18, x1 - 12, y1 - 10), 6, fill=TAXI, outline=GROUND, width=2)
    if waits is not None:
        x0, y0, _, y1 = cell(*places[waits.group(1)])
        person(pen, x0 + 8, y1 - 10)
    elif "passenger is in the taxi" in observation:
        person(pen, x0 + CELL // 2, y1 - 14)


def person(pen: ImageDraw.ImageDraw, x: int, y: int) -> None:
    pen.ellipse((x - 4, y - 20, x + 4, y - 12), fill=INK, outline=GROUND)
    pen.rounded_rectangle((x - 5, y - 12, x + 5, y), 3, fill=INK, outline=GROUND)


def cell(row: int, column: int) -> tuple[int, int, int, int]:
    x, y = LEFT + column * CELL, TOP + row * CELL
    return x, y, x + CELL, y + CELL


def draw_text(pen: ImageDraw.ImageDraw, frame: Frame, task: str) -> None:
    y = 48
    told = [(line, DIM) for line in textwrap.wrap(task, WIDTH)]
    told += [("", DIM), *((line, INK) for line in wrapped(frame.observation))]
    for line, colour in told:
        pen.text((TEXT, y), line, font=font(13), fill=colour)
        y += LINE
    y = SIZE[1] - 6 * LINE - 14
    recent = [*frame.path, (frame.coming, None)] if frame.coming else list(frame.path)
    for command, reward in recent[-5:]:
        pen.text((TEXT, y), f"> {command}", font=font(13, "-Bold"), fill=COMMAND)
        if reward is not None:
            pen.text((TEXT + 210, y), f"{reward:+.0f}", font=font(13), fill=GOOD if reward > 0 else DIM)
        y += LINE
    if frame.coming is None:
        total = sum(reward for _, reward in frame.path)
        pen.text((TEXT, y), f"success, return {total:+.0f}", font=font(13, "-Bold"), fill=GOOD)


def wrapped(text: str) -> list[str]:
    return [line for paragraph in text.splitlines() for line in textwrap.wrap(paragraph, WIDTH)]


def record(path: Path = PICTURE) -> None:
    env = gymnasium.make(ENV, disable_env_checker=True)
    task = env.reset(seed=SEED)[1]["task"]
    frames = episode()
    frames = [draw(frame, task).quantize(40, dither=Image.Dither.NONE) for frame in frames]
    shown = [1500] + [900] * (len(frames) - 2) + [4000]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=shown, loop=0, optimize=True)


if __name__ == "__main__":
    record()
    print(f"{PICTURE}: {PICTURE.stat().st_size / 1000:.0f} kB")
