"""The environment that $NATLANG_ENV and $NATLANG_SPLIT name, as the app that OpenEnv's tools start."""

import os

import uvicorn

from natlang_envs.cli.serve import MAX_MESSAGE, TOKEN
from natlang_envs.learners.openenv import make_app
from natlang_envs.make_env import make_env

ID = os.environ.get("NATLANG_ENV", "NatLang/ALFWorld-v0")
SPLIT = os.environ.get("NATLANG_SPLIT", "train")

app = make_app(lambda: make_env(ID, split=SPLIT), SPLIT, token=os.environ.get(TOKEN))


def main() -> None:
    uvicorn.run(app, host="0.0.0.0", port=int(os.environ.get("PORT", "8000")), ws_max_size=MAX_MESSAGE)


if __name__ == "__main__":
    main()
