"""Who grades: found by the git identity in kgrade.yaml, else kept in the person's own configuration."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from kgrade.records import codec
from kgrade.records.settings import Config, Settings
from kgrade.records.slugs import FOREIGN, is_foreign, is_slug, slug_of

LARGEST_CONFIG = 1024 * 1024


class DeskError(Exception):
    """Something a person can mend, in one sentence: what, where, what was expected, what to do."""


class Slow(DeskError):
    """The remote has not answered in time and is waited for; the same again is worth a try once it has."""


class Incomplete(DeskError):
    """A sheet that still lacks something; `missing` holds (place, sentence) pairs."""

    def __init__(self, missing: list[tuple[str, str]]) -> None:
        super().__init__("not saved yet: " + "; ".join(sentence for _, sentence in missing))
        self.missing = missing


class Moved(DeskError):
    """Task, submission, evidence or rubric changed while the item was open; `what` names which."""

    def __init__(self, what: list[str]) -> None:
        super().__init__(f"{', '.join(what)} changed while this item was open: still valid, look again, or discard")
        self.what = what


def config_path() -> Path:
    """Where the person's own settings live."""
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "kgrade" / "config.yaml"


def read_config() -> Config:
    """The person's settings, defaults where there is no file; raise BadRecord when it cannot be read."""
    path = config_path()
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Config()
    except OSError as why:
        raise DeskError(f"{path} cannot be read: {why.strerror}; give it back its permissions or remove it") from None
    return codec.decode(Config, data, str(path)) if data.strip() else Config()


def keep_evaluator(slug: str) -> None:
    """Write `slug` into the person's settings, everything else as it was."""
    path = config_path()
    config = msgspec.structs.replace(read_config(), evaluator=slug)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    beside.write_bytes(codec.encode_yaml(config))
    beside.replace(path)


def evaluator_of(name: str, email: str, settings: Settings, config: Config, asked: str | None = None) -> str:
    """Return the evaluator's slug: as `asked`, by e-mail in the queue, the person's own, or made of the e-mail.

    Raise DeskError when the slug belongs to someone else in this queue, or when nothing usable is at hand.
    """
    known = next((slug for slug, person in settings.evaluators.items() if email and email in person.emails), None)
    slug = asked or known or config.evaluator
    if slug is None:
        try:
            slug = slug_of(email.partition("@")[0] or name)
        except ValueError:
            raise DeskError(
                "git knows no name or e-mail for you; set them with: git config --global user.email YOU@EXAMPLE.ORG"
            ) from None
    if not is_slug(slug):
        raise DeskError(f"{slug!r} cannot name an evaluator; expected a-z, 0-9 and -, such as ada")
    if is_foreign(slug):
        raise DeskError(f"{slug!r} is for verdicts that were imported; choose a name without {FOREIGN}")
    owner = settings.evaluators.get(slug)
    if owner and owner.emails and email not in owner.emails:
        raise DeskError(
            f"the evaluator {slug} belongs to {owner.name} in kgrade.yaml, not to {email or 'nobody'};"
            " choose another name with --evaluator, or ask a lead to add your e-mail there"
        )
    return slug
