import json
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import natlang_envs  # noqa: F401
from natlang_envs.autoexplore.dataset.catalogue import catalogue
from natlang_envs.autoexplore.repository.texts import EXIT
from natlang_envs.autoexplore.repository.tree import open_repository
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput
from natlang_envs.prompt import PathStep
from reference_agent.search.agents import SearchAgent
from reference_agent.search.belief import Search, believe
from reference_agent.search.encoder import WINDOW, Encoder, spoken, windows
from reference_agent.search.games import play
from reference_agent.search.heads import entry_cases, fit, text_cases
from reference_agent.search.judge import Asked, Usual
from reference_agent.search.lexical import Rarity
from reference_agent.search.listing_judge import ROOM, ListingJudge, entry_words
from reference_agent.search.listing_training import ListingConfig, train_listings, trained_judge
from reference_agent.search.listings import Question, entries_of, examples
from reference_agent.search.planner import Plan, choose
from reference_agent.search.policy import Policy, command_features
from reference_agent.search.practice import Exercise, PracticeConfig, by_reward, holds_of, perform, warm_start
from reference_agent.search.reflect import Reflecting, read_sentence
from reference_agent.search.run import Judgement, Searcher
from reference_agent.search.teacher import Noise, NoisyRates, reflection
from reference_agent.search.train import SETTINGS
from reference_agent.search.weak import read_sources, read_written


def tiny_encoder(seed=0):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *(f"##{each}" for each in letters)]
    tokenizer = Tokenizer(models.WordPiece({word: index for index, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    return Encoder(BertModel(config, add_pooling_layer=False), fast, f"tiny{seed}")


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    for path, text in {
        "README.md": "A shop for tea.",
        "docs/prices.md": "Green tea costs two pounds.",
        "docs/staff.md": "Anna opens the shop.",
        "src/till.py": "def charge(): ...",
        "src/stock/count.py": "def count(): ...",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def questions_of(folder):
    return [
        Question("shop", folder, "What does green tea cost?", ("docs/prices.md",)),
        Question("shop", folder, "Who opens the shop?", ("docs/staff.md",)),
        Question("shop", folder, "Which code counts the stock?", ("src/stock/count.py",)),
    ]


def searcher_of(folder):
    judges = [ListingJudge(tiny_encoder(), 1), ListingJudge(tiny_encoder(3), 2)]
    reader, questions = tiny_encoder(1), questions_of(folder)
    rarity, usual = Rarity.of(["tea shop", "tea", "count"]), Usual.of(examples(questions))
    rng = np.random.default_rng(0)
    asked = [Asked(each.text, judges, reader, rarity, usual) for each in questions]
    entry = fit([case for each in zip(asked, questions, strict=True) for case in entry_cases(*each, rng)], epochs=2)
    text = fit([case for each in zip(asked, questions, strict=True) for case in text_cases(*each, rng)], epochs=2)
    networks = {"depth1": entry, "depth2": entry, "any": entry, "text": text}
    return Searcher(reader, judges, networks, rarity, usual, SETTINGS)


@given(st.text(max_size=3 * WINDOW))
def test_windows_lose_nothing_but_blanks(text):
    pieces = windows(text)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(0 < len(each) <= WINDOW for each in pieces)


def test_paths_are_read_as_words():
    assert spoken("src/retryMiddleware_v2.py") == "src retry Middleware v2 py"


def test_a_cache_gives_the_vectors_back_and_another_encoders_is_refused(tmp_path):
    encoder, file = tiny_encoder(), tmp_path / "cache" / "vectors.npz"
    made = encoder.vectors(["green tea", "", "naïve ☕"])
    encoder.write_cache(file)
    again = tiny_encoder()
    again.read_cache(file)
    again.model = None  # nothing is computed
    np.testing.assert_array_equal(again.vectors(["green tea", "", "naïve ☕"]), made)
    with pytest.raises(UsageError, match=r"is of the encoder tiny0, not tiny1"):
        tiny_encoder(1).read_cache(file)
    file.write_bytes(b"no such thing")
    with pytest.raises(UsageError, match="delete it"):
        encoder.read_cache(file)


def test_listings_lead_to_the_targets(repository):
    found = examples(questions_of(repository))
    top = [each for each in found if not each.folder]
    assert {each.entries for each in top} == {("docs/", "src/", "README.md")}
    assert [each.right for each in top] == [(0,), (0,), (1,)]
    assert {each.folder for each in found} == {"", "docs", "src"}


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1000), which=st.integers(0, 2), deep=st.sampled_from([None, (0, 1), (2,)]))
def test_the_planner_gives_listed_commands_and_beliefs_add_up(tmp_path_factory, seed, which, deep):
    folder = tmp_path_factory.mktemp("some")
    rng = np.random.default_rng(seed)
    for index in range(int(rng.integers(1, 60))):
        path = folder / "/".join([*(f"d{rng.integers(3)}" for _ in range(rng.integers(3))), f"f{index}.txt"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")
    question = Question("some", folder, "Which?", ("none.txt",))
    rates, holds = NoisyRates(question, rng, Noise()), holds_of(deep)

    def act(search, commands):
        belief = believe(search, rates, holds)
        whole = sum(belief.things.values()) + sum(belief.read.values())
        assert whole == pytest.approx(1) or whole == 0
        choice = choose(search, belief, Plan())
        assert choice.command in commands
        said = reflection(search, belief, choice)
        assert said.endswith(f"Next: {choice.command}.")
        rows = read_sentence(said, search, commands)
        assert np.isfinite(rows).all()
        assert np.isfinite(command_features(search, belief, commands)).all()
        return choice.command if which else commands[int(rng.integers(len(commands)))]

    assert not play(question, act).success


def test_the_teacher_finds_most_answers_and_reads_in_vain(repository):
    rng, won, vain = np.random.default_rng(0), 0, 0
    for question in questions_of(repository) * 20:
        rates = NoisyRates(question, rng, Noise())
        played = play(
            question,
            lambda search, _, rates=rates: choose(search, believe(search, rates, holds_of(None)), Plan()).command,
        )
        won += played.success
        vain += len(set(played.read) - set(question.targets))
    assert won >= 45
    assert vain > 0


def test_a_judge_of_listings_that_was_stopped_goes_on_to_the_same_weights(repository, tmp_path):
    pools = (questions_of(repository), questions_of(repository)[:1], [])
    config = ListingConfig(steps=4, decay=2, layers=1, questions=3, entries=2)
    whole = ListingJudge(tiny_encoder(), 1)
    assert train_listings(whole, pools, config, tmp_path / "whole.pt")
    finished, rounds = False, 0
    while not finished:
        parts = ListingJudge(tiny_encoder(), 1)  # as a new process
        finished = train_listings(parts, pools, config, tmp_path / "parts.pt", seconds=0)
        rounds += 1
    assert rounds >= 4
    for name, value in whole.learned().items():
        torch.testing.assert_close(parts.learned()[name], value)
    with pytest.raises(UsageError, match="other settings"):
        train_listings(parts, pools, ListingConfig(steps=5), tmp_path / "parts.pt")


def test_a_finished_judge_is_taken_over_whatever_its_settings_were(repository, tmp_path):
    pools, config = (questions_of(repository), [], []), ListingConfig(steps=2, decay=1, layers=1, questions=2)
    judge, file = ListingJudge(tiny_encoder(), 1), tmp_path / "training" / "aside.pt"
    with pytest.raises(UsageError, match=f"no finished judge: run reflect-rl search train --out {tmp_path}"):
        trained_judge(file, tiny_encoder())
    assert not train_listings(judge, pools, config, file, seconds=0)
    with pytest.raises(UsageError, match="no finished judge"):
        trained_judge(file, tiny_encoder())
    assert train_listings(judge, pools, config, file)
    taken = trained_judge(file, tiny_encoder())
    words = [entry_words("docs/prices.md"), entry_words("docs/staff.md")]
    assert taken.rate("Who?", "docs", words).tolist() == judge.rate("Who?", "docs", words).tolist()


def test_a_judge_learns_which_entry_leads_on(repository, tmp_path):
    judge = ListingJudge(tiny_encoder(), 2)
    config = ListingConfig(steps=150, decay=100, layers=2, rate=3e-3, head_rate=1e-2, questions=6)
    shares = []
    train_listings(
        judge, (questions_of(repository), [], []), config, tmp_path / "judge.pt", lambda *told: shares.append(told[2])
    )
    assert shares[-1] > 0.7  # chance is 0.4
    rated = judge.rate("Who opens the shop?", "docs", [entry_words("docs/prices.md"), entry_words("docs/staff.md")])
    assert rated[1] > rated[0]


def test_a_listing_is_read_in_pieces_that_fit_the_encoder():
    judge = ListingJudge(tiny_encoder(), 1)
    words = [entry_words(f"folder{index}/", [f"child{each}" for each in range(30)]) for index in range(60)]
    assert sum(map(judge.size, words)) > 3 * ROOM
    rated = judge.rate("long " * 300, "", words)
    assert rated.shape == (60,)
    assert np.isfinite(rated).all()
    few = judge.rate("Which?", "", words[:2])
    np.testing.assert_allclose(judge.rate("Which?", "", words[:2]), few)


def test_written_questions_are_about_no_labelled_repository():
    written = read_written()
    assert len(written) > 1_500
    assert not {each.repository for each in written} & set(catalogue())
    assert {each.repository for each in written} <= set(read_sources().pinned)
    assert all(each.hard != each.natural and each.paths for each in written)


def test_seeing_children_changes_the_rating_of_that_folder_alone(repository):
    judges = [ListingJudge(tiny_encoder(), 1)]
    asked = Asked("What does tea cost?", judges, tiny_encoder(1), Rarity.of(["tea"]), Usual({}))
    entries = entries_of(open_repository(repository), "")
    before = asked.entry_rows(entries, {})
    after = asked.entry_rows(entries, {"docs/": ("docs/prices.md", "docs/staff.md")})
    assert not np.array_equal(before[0], after[0])
    np.testing.assert_array_equal(before[1:], after[1:])


def test_reward_teaches_a_policy_to_find_what_the_ratings_tell(repository):
    exercises = [
        Exercise(each, NoisyRates(each, np.random.default_rng(index), Noise(4, 4, 6)))
        for index, each in enumerate(questions_of(repository))
    ]
    policy, holds = Policy(), holds_of(None)
    config = PracticeConfig(demonstrations=4, epochs=30, updates=15, questions=3, group=4)
    assert warm_start(policy, exercises, holds, Plan(), config, 0) > 8
    shares = [share for _, share in by_reward(policy, exercises, holds, config, 0)]
    assert len(shares) == 15
    assert np.mean([perform(each, holds, policy, None, command_features)[0].success for each in exercises]) > 0.6


def test_the_sentence_is_all_that_a_reading_policy_is_told(repository):
    question = questions_of(repository)[0]
    search = Search(question.text, 15)
    commands = ("cd docs", "cd src", "cat README.md", "id README.md", EXIT)
    search.listed(commands)
    belief = believe(search, NoisyRates(question, np.random.default_rng(0), Noise(6, 6, 6)), holds_of(None))
    said = Reflecting(Plan()).say(search, belief)
    assert "docs" in said
    rows = read_sentence(said, search, commands)
    other = read_sentence(said.replace("docs", "src"), search, commands)
    assert not np.array_equal(rows, other)
    np.testing.assert_array_equal(rows, read_sentence(said, Search("Another?", 15), commands))


@pytest.mark.parametrize("bits", [16, 8])
def test_a_run_is_read_back_and_plays_like_before(repository, tmp_path, monkeypatch, bits):
    searcher = searcher_of(repository)
    searcher.save(tmp_path / "run", bits)
    made = iter([tiny_encoder(1), tiny_encoder(), tiny_encoder(3)])
    monkeypatch.setattr("reference_agent.search.run.encoder", lambda: next(made))
    again = Searcher.load(tmp_path / "run")
    listed = entries_of(open_repository(repository), "")
    one = searcher.judgement("Who opens the shop?", "any").entries("", listed, {})
    two = again.judgement("Who opens the shop?", "any").entries("", listed, {})
    np.testing.assert_allclose(one, two, atol=0.05)
    monkeypatch.setattr("reference_agent.search.run.encoder", lambda: tiny_encoder(2))
    with pytest.raises(UsageError, match="was trained on the encoder tiny1, not tiny2"):
        Searcher.load(tmp_path / "run")
    with pytest.raises(UsageError, match="no trained searcher"):
        Searcher.load(tmp_path)


@pytest.mark.parametrize(("form", "sampling"), [("plan", False), ("policy", False), ("policy", True)])
@pytest.mark.parametrize("question", ["What does green tea cost?", "Où est le café?", "long " * 399])
def test_agents_play_whole_games(repository, form, sampling, question):
    env = gymnasium.make(
        "NatLang/AutoExplore-v0", repository=str(repository), question=question, target="docs/prices.md"
    )
    agent = SearchAgent(searcher_of(repository), "any", None if form == "plan" else Policy(), sampling=sampling)
    observation, info = env.reset(seed=0)
    path, rng, ended = [], np.random.default_rng(0), False
    while not ended:
        commands = info["admissible_commands"]
        (decision,) = agent.act([AgentInput(info["task"], tuple(path), observation, commands, rng)])
        assert decision.action in commands
        observation, _, ended, _, info = env.step(decision.action)
        path.append(PathStep(decision.action, info["feedback"]))
    assert len(path) <= 15


def test_a_repository_of_one_file_is_a_normal_game(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "всё.txt").write_text("tea")
    question = Question("one", tmp_path / "one", "What?", ("всё.txt",))
    searcher = searcher_of_shop(tmp_path)
    judged = searcher.judgement("What?", "any")
    assert isinstance(judged, Judgement)
    played = play(question, lambda search, _: choose(search, believe(search, judged, holds_of(None)), Plan()).command)
    assert played.success


def searcher_of_shop(tmp_path: Path):
    folder = tmp_path / "shop"
    for path in ("docs/prices.md", "docs/staff.md", "src/stock/count.py", "src/till.py", "README.md"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(json.dumps(path))
    return searcher_of(folder)
