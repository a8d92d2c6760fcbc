"""A compiler for the session: the runtime is prepared once, objects are kept by the hash of their source."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kgrade.harness.emulator import translate
from kgrade.harness.emulator.compiler import NO_COMPILER, Compiler, find_compiler
from tests.harness.emulator.running import Loaded, run

Load = Callable[..., Loaded]


@pytest.fixture(scope="session")
def runtime_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The user's cache, as it was before tests got homes of their own; else one for the session."""
    stated = os.environ.get("XDG_CACHE_HOME")
    return Path(stated) if stated else tmp_path_factory.getbasetemp().parent / "cache"


@pytest.fixture
def runtime_here(runtime_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is collected use the runtime that the session has prepared."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(runtime_folder))


@pytest.fixture(scope="session")
def compiler(runtime_folder: Path) -> Compiler:
    executable = find_compiler()
    if executable is None:
        pytest.skip(NO_COMPILER)
    return Compiler(executable, runtime_folder / "kgrade" / "emulator", run)


@pytest.fixture(scope="session")
def load(compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> Load:
    """Translate, compile and load: `load(source)` or `load({path: source}, checks=True)`."""
    known: dict[str, Loaded] = {}

    def loaded(sources: str | Mapping[str, str], checks: bool = False) -> Loaded:
        files = {"kernel.cu": sources} if isinstance(sources, str) else dict(sources)
        key = hashlib.sha256(repr((sorted(files.items()), checks)).encode()).hexdigest()
        if key not in known:
            encoded = {path: text.encode() for path, text in files.items()}
            folder = tmp_path_factory.mktemp("emulated")
            for path, text in translate(encoded, split=not checks).items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(text)
            compiled = compiler.compile(folder, folder, checks)
            assert compiled.shared is not None, compiled.log
            known[key] = Loaded(compiled.shared, sorted(files), run)
        return known[key]

    return loaded
