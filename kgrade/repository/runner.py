"""The one place that runs git: hardened, logged, killable."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import select
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec

from kgrade.records.neutral import neutral, neutral_lines

# What the queue repository brings is untrusted, so nothing in it may name a program to run.
HARDENING = (
    ("core.fsmonitor", "false"),
    ("protocol.ext.allow", "never"),
    ("core.quotePath", "false"),
    ("i18n.commitEncoding", "UTF-8"),
    ("push.recurseSubmodules", "no"),
    ("fetch.recurseSubmodules", "false"),
    ("push.followTags", "false"),
)
DURABLE = ("core.fsync", "objects,reference,index")
DURABLE_BEFORE_2_36 = ("core.fsyncObjectFiles", "true")
NO_HOOKS = ("core.hooksPath", os.devnull)

# Set while git itself runs a hook or an alias; they would point every command at another repository.
LOCATION_VARIABLES = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_EXTERNAL_DIFF",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
)
ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}

POLL_S = 0.1
GRACE_S = 2.0
LOCAL_TIMEOUT_S = 60.0
LOG_LENGTH = 500
_ROOM = 4096
"""Bytes that an empty pipe takes at once, however small the system makes its pipes."""

_CREDENTIALS = re.compile(r"(\w+://)[^/@\s]+@")


class GitError(Exception):
    """A git command that failed, said in one sentence that is safe to print."""

    def __init__(self, sentence: str, *, code: int | None = None, stderr: str = "") -> None:
        super().__init__(sentence)
        self.code = code
        self.stderr = stderr


class NotARepositoryError(GitError):
    """A place that holds no repository, or one that git will not open."""


class GitTimeoutError(GitError):
    """A git command that ran past its limit and was killed with everything it had started."""


class GitCancelledError(GitError):
    """A git command that was killed because the caller no longer wants it."""


class Result(msgspec.Struct, frozen=True):
    """What a git command left behind; `code` is its exit status."""

    stdout: bytes
    stderr: bytes
    code: int

    @property
    def text(self) -> str:
        """Standard output as text, without the final newline."""
        return self.stdout.decode("utf-8", "replace").rstrip("\n")

    @property
    def words(self) -> str:
        """Standard error as text that is safe to print."""
        return printable(self.stderr.decode("utf-8", "replace"))


class LogEntry(msgspec.Struct, frozen=True):
    """One git command as the command log shows it; `code` is None for one that was killed."""

    at: float
    seconds: float
    arguments: tuple[str, ...]
    code: int | None
    stderr: str


def printable(text: str) -> str:
    """What git said, or was asked: `text` without credentials in addresses, safe to print. Progress becomes lines."""
    lines = _CREDENTIALS.sub(r"\1…@", text.replace("\r\n", "\n").replace("\r", "\n"))
    return neutral_lines(lines).strip()


class Git:
    """Git commands in one folder of one repository.

    Commands of one object may run from several threads at once.
    """

    def __init__(
        self,
        folder: Path,
        *,
        git_dir: Path,
        common_dir: Path,
        work_tree: Path | None,
        object_format: str,
        log: deque[LogEntry],
    ) -> None:
        self.folder = folder
        self.git_dir = git_dir
        self.common_dir = common_dir
        self.work_tree = work_tree
        self.object_format = object_format
        self._log = log
        self._ready: dict[tuple[str, ...], subprocess.Popen[bytes]] = {}
        self._ready_turn = threading.Lock()

    @classmethod
    def open(cls, path: Path) -> Git:
        """The repository that holds `path`; GitError when there is none or git refuses it."""
        if not path.is_dir():
            raise NotARepositoryError(f"{neutral(str(path))} is not a folder; name a folder inside a git repository")
        log: deque[LogEntry] = deque(maxlen=LOG_LENGTH)
        unknown = Path()
        probe = cls(path, git_dir=unknown, common_dir=unknown, work_tree=None, object_format="sha1", log=log)
        asked = ["rev-parse", "--absolute-git-dir", "--git-common-dir", "--show-object-format"]
        found = probe.run([*asked, "--show-toplevel"], check=False)
        if found.code:  # there is no working tree here, or no repository
            found = probe.run(asked, check=False)
        if found.code:
            raise _not_a_repository(path, found)
        git_dir, common_dir, object_format, *inside = found.text.split("\n", 3)
        work_tree = Path(inside[0]) if inside else None
        return cls(
            work_tree or Path(git_dir),
            git_dir=Path(git_dir),
            common_dir=(path / common_dir).resolve(),
            work_tree=work_tree,
            object_format=object_format,
            log=log,
        )

    @classmethod
    def create(cls, folder: Path, branch: str) -> Git:
        """A new, empty SHA-1 repository in `folder`, which exists, on `branch`; without any template's hooks."""
        unknown = Path()
        start = cls(folder, git_dir=unknown, common_dir=unknown, work_tree=None, object_format="sha1", log=deque())
        start.run(["init", "--quiet", "--template=", "--object-format=sha1", f"--initial-branch={branch}"])
        return cls.open(folder)

    @property
    def log(self) -> tuple[LogEntry, ...]:
        """The last commands, oldest first."""
        return tuple(self._log)

    @functools.cached_property
    def settings(self) -> Mapping[str, str]:
        """Git's settings here, the person's own included, as they stood when first asked for; names in small letters.

        A setting that stands without a value is "true".
        """
        listed = self.run(["config", "--null", "--list"], check=False).stdout.decode("utf-8", "replace")
        entries = (entry.partition("\n") for entry in listed.split("\0") if entry)
        return {name: value if is_set else "true" for name, is_set, value in entries}

    @functools.cached_property
    def own_hooks(self) -> Path:
        """The folder of the person's own hooks, which `run` with `own_hooks` lets run."""
        return self.folder / self.run(["rev-parse", "--git-path", "hooks"], own_hooks=True).text

    @property
    def null_oid(self) -> str:
        """The id that stands for "no object"."""
        return "0" * (64 if self.object_format == "sha256" else 40)

    def run(
        self,
        arguments: Sequence[str],
        *,
        input: bytes | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = LOCAL_TIMEOUT_S,
        cancel: threading.Event | None = None,
        check: bool = True,
        own_hooks: bool = False,
        durable: bool = True,
    ) -> Result:
        """Run `git <arguments>` to its end.

        `timeout` is in seconds. `own_hooks` lets the person's own hooks run, as a push must. What it writes is on
        the disk at its end, unless it need not be `durable`: then git's own settings decide. Raises GitError
        for a non-zero exit when `check`, GitTimeoutError and GitCancelledError after killing the whole
        process group.
        """
        started = time.time()
        clock = time.monotonic()
        process = self.start(arguments, env=env, own_hooks=own_hooks, durable=durable, stdin=input is not None)
        code: int | None = None
        stderr = b""
        try:
            stdout, stderr = _finish(process, input, clock + timeout, cancel)
            code = process.returncode
        except TimeoutError:
            raise GitTimeoutError(f"git {arguments[0]} gave no answer for {timeout:g} s and was stopped") from None
        except InterruptedError:
            raise GitCancelledError(f"git {arguments[0]} was stopped") from None
        finally:
            if process.returncode is None:
                _kill(process)
            self._note(started, time.monotonic() - clock, arguments, code, stderr)
        result = Result(stdout, stderr, code)
        if check and code:
            sentence = f"git {arguments[0]} failed: {reason(result)}"
            raise GitError(sentence, code=code, stderr=result.words)
        return result

    def get_ready(self, arguments: Sequence[str]) -> None:
        """Start `git <arguments>`, a command that answers as often as it is asked, for every `ask` from now on.

        What it writes is durable. `let_go` ends it.
        """
        key = tuple(arguments)
        with self._ready_turn:
            ready = self._ready.get(key)
            if ready is not None and ready.poll() is not None:
                _kill(ready)
                ready = None
            if ready is None:
                self._ready[key] = self.start(arguments)

    def ask(
        self, arguments: Sequence[str], question: bytes, answer: bytes, *, timeout: float = LOCAL_TIMEOUT_S
    ) -> Result | None:
        """Put `question` to the command that `get_ready` started; None, with nothing asked, where there is none.

        All is well when it says `answer`. One that says anything else ends, and its words and exit code are in the
        result, as those of `run` without `check`. GitTimeoutError after `timeout` seconds.
        """
        key = tuple(arguments)
        with self._ready_turn:
            process = self._ready.pop(key, None)
            if process is None:
                return None
            if process.poll() is not None:
                _kill(process)
                return None
            started, clock = time.time(), time.monotonic()
            try:
                said = _conversation(process, question, len(answer), clock + timeout)
            except TimeoutError:
                _kill(process)
                raise GitTimeoutError(f"git {arguments[0]} gave no answer for {timeout:g} s and was stopped") from None
            if said == answer:
                self._ready[key] = process
                result = Result(said, b"", 0)
            else:
                rest, stderr = _ended(process)
                result = Result(said + rest, stderr, process.returncode or 1)
            self._note(started, time.monotonic() - clock, arguments, result.code, result.stderr)
            return result

    def let_go(self) -> None:
        """End what `get_ready` started."""
        with self._ready_turn:
            ready, self._ready = list(self._ready.values()), {}
        for process in ready:
            _kill(process)

    def start(
        self,
        arguments: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        own_hooks: bool = False,
        durable: bool = True,
        stdin: bool = True,
        stderr: int = subprocess.PIPE,
    ) -> subprocess.Popen[bytes]:
        """Start `git <arguments>` in a session of its own, with pipes; the caller ends it."""
        settings = [*HARDENING]
        if durable:
            settings.append(DURABLE if git_version() >= (2, 36) else DURABLE_BEFORE_2_36)
        if not own_hooks:
            settings.append(NO_HOOKS)
        command = ["git"]
        for key, value in settings:
            command += ["-c", f"{key}={value}"]
        environment = {k: v for k, v in os.environ.items() if k not in LOCATION_VARIABLES}
        try:
            return subprocess.Popen(
                [*command, *arguments],
                cwd=self.folder,
                env={**environment, **ENVIRONMENT, **(env or {})},
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                # No controlling terminal: neither ssh nor a hook can ask a question on the screen.
                start_new_session=True,
            )
        except FileNotFoundError:
            raise GitError(f"the folder {neutral(str(self.folder))} is gone") from None

    def in_folder(self, folder: Path) -> Git:
        """The same repository, seen from another of its working trees."""
        git_dir = Path(self._elsewhere(folder).run(["rev-parse", "--absolute-git-dir"]).text)
        return Git(
            folder,
            git_dir=git_dir,
            common_dir=self.common_dir,
            work_tree=folder,
            object_format=self.object_format,
            log=self._log,
        )

    def _elsewhere(self, folder: Path) -> Git:
        return Git(
            folder,
            git_dir=self.git_dir,
            common_dir=self.common_dir,
            work_tree=folder,
            object_format=self.object_format,
            log=self._log,
        )

    def _note(self, at: float, seconds: float, arguments: Sequence[str], code: int | None, stderr: bytes) -> None:
        shown = tuple(printable(a) for a in arguments)
        words = printable(stderr.decode("utf-8", "replace"))[-2000:]
        self._log.append(LogEntry(at, seconds, shown, code, words))


@functools.cache
def git_version() -> tuple[int, ...]:
    """The version of the git on PATH, such as (2, 39, 5); GitError when there is none."""
    try:
        said = subprocess.run(["git", "version"], capture_output=True, check=False, timeout=LOCAL_TIMEOUT_S).stdout
    except FileNotFoundError:
        raise GitError("git is not on PATH; install git 2.34 or newer") from None
    found = re.search(rb"(\d+(?:\.\d+)+)", said)
    if found is None:
        raise GitError(f"git does not say its version: {printable(said.decode('utf-8', 'replace'))!r}")
    return tuple(int(part) for part in found[1].split(b"."))


def reason(result: Result) -> str:
    """The line of git's error output that says why, without its prefix."""
    lines = [line.strip() for line in result.words.split("\n") if line.strip()]
    for prefix in ("fatal: ", "error: "):
        for line in lines:
            if line.startswith(prefix):
                return line.removeprefix(prefix)
    return lines[-1] if lines else f"exit status {result.code}"


def _not_a_repository(path: Path, found: Result) -> NotARepositoryError:
    if "dubious ownership" in found.words:
        return NotARepositoryError(
            f"{neutral(str(path))} belongs to another user, so git will not open it; "
            f"if you trust it: git config --global --add safe.directory {neutral(str(path))}"
        )
    if "not a git repository" in found.words:
        return NotARepositoryError(
            f"{neutral(str(path))} is not inside a git repository; "
            "go to a queue's folder, or make one with: git init && kgrade init"
        )
    return NotARepositoryError(f"git cannot open {neutral(str(path))}: {reason(found)}")


def _finish(
    process: subprocess.Popen[bytes],
    data: bytes | None,
    deadline: float,
    cancel: threading.Event | None,
) -> tuple[bytes, bytes]:
    """Feed and read `process` to its end; TimeoutError or InterruptedError when it has to be killed."""
    if data is not None and process.stdin is not None and len(data) <= _ROOM:
        _feed(process.stdin, data)
        process.stdin = None
    elif data is not None and process.stdin is not None:
        # Not by `communicate`: once its time ran out, a further call drops what was not yet written.
        threading.Thread(target=_feed, args=(process.stdin, data), name="git-input", daemon=True).start()
        process.stdin = None
    ended: float | None = None
    while True:
        try:
            return process.communicate(timeout=POLL_S)
        except subprocess.TimeoutExpired as waiting:
            now = time.monotonic()
            if process.poll() is not None:
                # A helper git left behind (a shared ssh connection, say) may keep the pipes open for hours.
                ended = ended or now
                if now - ended > GRACE_S:
                    return waiting.output or b"", waiting.stderr or b""
            elif cancel is not None and cancel.is_set():
                raise InterruptedError from None
            elif now > deadline:
                raise TimeoutError from None


def _conversation(process: subprocess.Popen[bytes], question: bytes, length: int, deadline: float) -> bytes:
    """The first `length` bytes that `process` says to `question`, fewer where it ends; TimeoutError past `deadline`."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):  # its end says why
        process.stdin.write(question)
        process.stdin.flush()
    waiting = select.poll()
    waiting.register(process.stdout, select.POLLIN)
    said = b""
    while len(said) < length:
        if not waiting.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise TimeoutError
        part = os.read(process.stdout.fileno(), length - len(said))
        if not part:
            break
        said += part
    return said


def _ended(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """What else `process`, which has failed, said until its end."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    process.stdin = None
    try:
        return process.communicate(timeout=GRACE_S)
    except subprocess.TimeoutExpired:
        _kill(process)
        return b"", b""


def _feed(stdin: IO[bytes], data: bytes) -> None:
    """Write `data` and the end of it; a process that ended before reading all of it has said why."""
    with contextlib.suppress(BrokenPipeError), stdin:
        stdin.write(data)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End `process` and its whole group, politely first so that git can remove its own locks."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            break
        try:
            process.communicate(timeout=GRACE_S)
            break
        except subprocess.TimeoutExpired:
            continue
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=GRACE_S)
