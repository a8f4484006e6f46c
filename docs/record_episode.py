"""Draw an episode of DangerousTaxi as docs/episode.gif: `python docs/record_episode.py`.

Pillow and the typeface come with matplotlib, in the extra `agent`. The map on the left is the environment's picture.
"""

from __future__ import annotations

import io
import textwrap
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import gymnasium
from PIL import Image, ImageDraw, ImageFont

import natlang_envs

ENV = "NatLang/DangerousTaxi-Dropoff-v0"
SEED = 65
PICTURE = Path(__file__).parent / "episode.gif"

SIZE = (860, 440)
LEFT, TOP, MAP = 24, 76, 300  # of the map
TEXT = 340  # where the text begins
WIDTH = 62  # characters of a line of text
LINE = 19
GROUND, PAPER, INK, DIM = "#1b1f27", "#262c36", "#e6e6e6", "#8b95a5"
GOOD, COMMAND = "#7fd17f", "#8ab4f8"


@dataclass(frozen=True)
class Frame:
    """What is known after a step: map, text, the commands with their rewards, and the command that comes next."""

    city: Any  # pixels
    observation: str
    path: tuple[tuple[str, float], ...]
    coming: str | None


def episode() -> list[Frame]:
    """Play the oracle's plan."""
    env = gymnasium.make(ENV, disable_env_checker=True, render_mode="rgb_array")
    observation, _ = env.reset(seed=SEED)
    plan = natlang_envs.unwrap(env).oracle()
    frames: list[Frame] = []
    path: list[tuple[str, float]] = []
    for command in plan:
        frames.append(Frame(env.render(), observation, tuple(path), command))
        observation, reward, *_ = env.step(command)
        path.append((command, float(reward)))
    return [*frames, Frame(env.render(), observation, tuple(path), None)]


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
    pen.text((LEFT, 48), "The map (the agent gets only the text)", font=font(11), fill=DIM)
    image.paste(Image.fromarray(frame.city).resize((MAP, MAP), Image.Resampling.NEAREST), (LEFT, TOP))
    draw_text(pen, frame, task)
    return image


def draw_text(pen: ImageDraw.ImageDraw, frame: Frame, task: str) -> None:
    y = 48
    told = [(line, DIM) for line in textwrap.wrap(task, WIDTH)]
    lines = [line for paragraph in frame.observation.splitlines() for line in textwrap.wrap(paragraph, WIDTH)]
    for line, colour in (*told, ("", DIM), *((line, INK) for line in lines)):
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


def record(path: Path = PICTURE) -> None:
    env = gymnasium.make(ENV, disable_env_checker=True)
    task = env.reset(seed=SEED)[1]["task"]
    drawn = [draw(frame, task) for frame in episode()]
    palette = drawn[-1].quantize(24, dither=Image.Dither.NONE)  # one for all: the file then holds only what changes
    frames = [each.quantize(palette=palette, dither=Image.Dither.NONE) for each in drawn]
    shown = [1500] + [900] * (len(frames) - 2) + [4000]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=shown, loop=0, optimize=True)


if __name__ == "__main__":
    record()
    print(f"{PICTURE}: {PICTURE.stat().st_size / 1000:.0f} kB")
