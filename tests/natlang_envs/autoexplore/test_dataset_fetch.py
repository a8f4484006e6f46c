"""Fetching the dataset's repositories: a real index on loopback that serves good archives and every kind of bad one."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import natlang_envs
from natlang_envs import UsageError
from natlang_envs.autoexplore.dataset.catalogue import PinnedRepository, catalogue, read_catalogue
from natlang_envs.autoexplore.dataset.fetch import fetch, problem_of
from natlang_envs.autoexplore.dataset.package_index import Index, IndexSettings, read_settings
from natlang_envs.repository.tree import open_repository
from natlang_envs.tasks import SPLITS
from tests.support import package_index
from tests.support.here import run_here
from tests.support.package_index import FILES, NAME, TOP, VERSION, Served, add, archive, sha256

pytest.importorskip("unearth")
ROOT = Path(natlang_envs.__file__).parents[1]
KEPT = sorted(name for name in FILES if "PKG-INFO" not in name and "egg-info" not in name)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NATLANG_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def served(cache: Path) -> Iterator[Served]:
    with package_index.serve(archive()) as index:
        yield index


def entry(content: bytes, **changes: str | int) -> PinnedRepository:
    values = {"name": NAME, "version": VERSION, "licence": "MIT", "split": "train", "about": "a teapot"}
    return PinnedRepository(**{**values, "sha256": sha256(content), "digest": "", "files": len(KEPT), **changes})  # type: ignore[arg-type]


def fetched(served: Served, wanted: PinnedRepository) -> Path:
    return fetch(wanted, lambda: Index(IndexSettings(indexes=(served.url,), timeout=5)))


def left(cache: Path) -> list[str]:
    """Return what there is in the cache: folders of repositories, archives and unfinished things."""
    return sorted(
        str(path.relative_to(cache)) for each in ("archives", "repositories") for path in (cache / each).glob("*")
    )


def test_a_repository_is_fetched_once_and_whole(served: Served, cache: Path) -> None:
    wanted = entry(served.content)
    folder = fetched(served, wanted)
    assert {name: (folder / name).read_text() for name in KEPT} == {name: FILES[name] for name in KEPT}
    assert list(open_repository(folder).files) == KEPT  # nothing that packaging added
    assert left(cache) == [f"repositories/{folder.name}"]
    asked = len(served.asked)
    assert fetched(served, wanted) == folder
    assert len(served.asked) == asked == 2


def test_what_was_changed_afterwards_is_noticed(served: Served, cache: Path) -> None:
    wanted = entry(served.content)
    folder = fetched(served, wanted)
    pinned = entry(served.content, digest=open_repository(folder).digest)
    assert problem_of(pinned) is None
    (folder / "README.md").write_text(FILES["README.md"].replace("litre", "liter", 1))
    assert "has the digest" in (problem_of(pinned) or "")
    (folder / "more").write_text("x")
    assert "holds 4 files, 3 are pinned" in (problem_of(pinned) or "")


def test_a_wrong_hash_is_refused(served: Served, cache: Path) -> None:
    wanted = entry(b"another archive")
    with pytest.raises(UsageError, match=r"has the SHA-256 .*, not the pinned .*; nothing was unpacked"):
        fetched(served, wanted)
    assert left(cache) == []


def test_an_interrupted_download_goes_on_where_it_was(served: Served, cache: Path) -> None:
    wanted = entry(served.content)
    served.ends_after = 30_000
    with pytest.raises(UsageError, match=r"teapot-1\.2\.tar\.gz"):
        fetched(served, wanted)
    part = cache / "archives" / f"teapot-1.2.tar.gz.{wanted.sha256[:12]}.part"
    assert part.read_bytes() == served.content[:30_000]
    served.ends_after = None
    assert fetched(served, wanted).is_dir()
    assert served.asked[-1][1] == "bytes=30000-"
    assert not part.exists()


@pytest.mark.parametrize("ranges", [True, False])
def test_a_part_of_something_else_is_replaced(served: Served, cache: Path, ranges: bool) -> None:
    wanted = entry(served.content)
    part = cache / "archives" / f"teapot-1.2.tar.gz.{wanted.sha256[:12]}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"?" * 1_000)
    served.ranges = ranges
    assert fetched(served, wanted).is_dir()


def link(tar: tarfile.TarFile) -> None:
    add(tar, f"{TOP}/shadow", type=tarfile.SYMTYPE, linkname="/etc/passwd")


def hard_link(tar: tarfile.TarFile) -> None:
    add(tar, f"{TOP}/shadow", type=tarfile.LNKTYPE, linkname=f"{TOP}/README.md")


def device(tar: tarfile.TarFile) -> None:
    add(tar, f"{TOP}/null", type=tarfile.CHRTYPE)


def upwards(tar: tarfile.TarFile) -> None:
    add(tar, f"{TOP}/../../escaped", "x")


def absolute(tar: tarfile.TarFile) -> None:
    add(tar, "/tmp/escaped-natlang", "x")


def beside(tar: tarfile.TarFile) -> None:
    add(tar, "other/file", "x")


def in_no_folder(tar: tarfile.TarFile) -> None:
    add(tar, "file", "x")


def twice(tar: tarfile.TarFile) -> None:
    add(tar, f"{TOP}/README.md", "x")


def file_as_folder(tar: tarfile.TarFile) -> None:
    add(tar, f"{TOP}/README.md/x", "x")


def deep(tar: tarfile.TarFile) -> None:
    add(tar, "/".join([TOP, *["d"] * 40, "file"]), "x")


def sparse_bomb(tar: tarfile.TarFile) -> None:
    member = tarfile.TarInfo(f"{TOP}/large")
    member.size = 1 << 40
    tar.fileobj.write(member.tobuf(tarfile.GNU_FORMAT))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (link, "is a link or a device"),
        (hard_link, "is a link or a device"),
        (device, "is a link or a device"),
        (upwards, "leads outside its folder"),
        (absolute, "leads outside its folder"),
        (beside, "it is no source distribution"),
        (in_no_folder, "in no folder"),
        (twice, "cannot be written to"),
        (file_as_folder, "cannot be written to"),
        (deep, "unpacks to more than any repository"),
        (sparse_bomb, "unpacks to more than any repository"),
    ],
)
def test_a_hostile_archive_is_refused_though_its_hash_is_right(
    cache: Path, change: package_index.Change, words: str
) -> None:
    content = archive(change)
    with package_index.serve(content) as served, pytest.raises(UsageError, match=words):
        fetched(served, entry(content))
    assert [name for name in left(cache) if name.startswith("repositories")] == []
    assert not list(cache.parent.rglob("escaped*"))
    assert not Path("/tmp/escaped-natlang").exists()


@pytest.mark.parametrize("keep", [0, 100, 60_000])
def test_a_truncated_archive_is_refused(cache: Path, keep: int) -> None:
    content = archive()[:keep]
    with package_index.serve(content) as served, pytest.raises(UsageError, match="truncated or damaged"):
        fetched(served, entry(content))
    assert [name for name in left(cache) if name.startswith("repositories")] == []


def test_an_index_without_the_version_is_named(served: Served, cache: Path) -> None:
    with pytest.raises(UsageError, match=r"has no source distribution of teapot 1\.3"):
        fetched(served, entry(served.content, version="1.3"))
    assert left(cache) == []


def test_no_network(cache: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/simple"
        with pytest.raises(UsageError, match=r"the packaging index http://127\.0\.0\.1.*cannot be re"):
            fetch(entry(b""), lambda: Index(IndexSettings(indexes=(url,), timeout=5)))


def test_no_room_on_the_disk(cache: Path) -> None:
    content = archive()
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    with package_index.serve(content) as served:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limit[1]))  # Python ignores SIGXFSZ: the write fails
        try:
            with pytest.raises(UsageError, match="set NATLANG_CACHE to a folder of yours"):
                fetched(served, entry(content))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        assert fetched(served, entry(content)).is_dir()


def test_a_cache_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("NATLANG_CACHE", str(tmp_path / "file"))
    with package_index.serve(archive()) as served, pytest.raises(UsageError, match="cannot be written to"):
        fetched(served, entry(served.content))


def run(cache: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    without = {name: None for name in os.environ if name.startswith("PIP_")}
    own = {"NATLANG_CACHE": str(cache), "PIP_CONFIG_FILE": os.devnull}
    return run_here("natlang", "data", *arguments, environment={**without, **own, **environment})


def test_the_command_asks_the_index_that_pip_is_set_to(served: Served, cache: Path) -> None:
    done = run(cache, "fetch", "flask", PIP_INDEX_URL=served.url)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "has no source distribution of flask" in done.stderr.splitlines()[-1]
    assert [path for path, _ in served.asked] == ["/simple/flask/"]


def test_without_a_network_the_others_say_what_to_run(cache: Path) -> None:
    done = run(cache, "path", "flask", PIP_INDEX_URL="http://127.0.0.1:9/simple")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("run natlang data fetch flask\n")
    done = run(cache, "path", "coffee-company", PIP_INDEX_URL="http://127.0.0.1:9/simple")
    assert done.returncode == 0
    assert Path(done.stdout.strip(), "README.md").is_file()


def test_settings_are_read_as_pip_reads_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in os.environ if each.startswith("PIP_")]:
        monkeypatch.delenv(name)
    (tmp_path / "pip.conf").write_text(
        "[global]\nindex-url = https://one.example/simple\nextra-index-url =\n    https://two.example/a\n"
        "    https://two.example/b\ntimeout = 3\n[download]\ntrusted-host = one.example\n[install]\nfind-links = /no\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_FIND_LINKS", "/wheels")
    found = read_settings()
    assert found.indexes[0] == "https://one.example/simple"
    assert found.indexes[-2:] == ("https://two.example/a", "https://two.example/b")
    assert (found.links, found.trusted, found.timeout) == (("/wheels",), ("one.example",), 3.0)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert read_settings().indexes == ()


def test_the_catalogue_is_whole() -> None:
    real = [each for each in catalogue().values() if each.sha256]
    assert len(real) >= 15
    assert {each.split for each in real} == set(SPLITS) - {"all"}
    for each in real:
        assert len(each.sha256) == len(each.digest) == 64
        assert 50 <= each.files <= 5_000
        assert set(each.licence.split(" OR ")) <= {"MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause"}


def test_a_wrong_catalogue_is_named(tmp_path: Path) -> None:
    path = tmp_path / "repositories.toml"
    for text in ("[[repository]]\nname = 'x'\n", "nonsense", "[x]\n"):
        path.write_text(text)
        with pytest.raises(UsageError, match=r"repositories\.toml"):
            read_catalogue(path)
