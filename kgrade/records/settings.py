"""`kgrade.yaml` beside the queue, and the person's own `config.yaml`. Every key is optional."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from kgrade.records.base import Part, Record
from kgrade.records.slugs import Slug

RefTemplate = Annotated[str, msgspec.Meta(pattern=r"^refs/heads/[A-Za-z0-9._/{}-]+\Z")]
Sign = Literal["auto", "always", "never"]


class Target(Part, frozen=True, kw_only=True):
    """Where a target's work runs: another Python with the site's own framework, and the architecture to build for."""

    python: str | None = None
    arch: str | None = None


class Evaluator(Part, frozen=True, kw_only=True):
    """A person who grades, found by the git identity; `keys` are SSH public keys."""

    name: str
    emails: list[str] = []
    keys: list[str] = []


class Settings(Record, frozen=True, kw_only=True):
    """How this queue is worked. With `retire_after`, an item that has so many grades is offered to nobody any more."""

    schema: Literal["kgrade/settings@1"] = "kgrade/settings@1"

    grades_ref: RefTemplate | None = None
    evidence_ref: RefTemplate | None = None
    remote: str | None = None
    blind: bool = False
    graders_per_item: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1
    double_grade_percent: Annotated[float, msgspec.Meta(ge=0, le=100)] = 0
    order: Literal["fifo", "shuffled"] = "fifo"
    lease_minutes: Annotated[int, msgspec.Meta(ge=1)] = 120
    leads: list[Slug] = []
    targets: dict[str, Target] = {}
    evaluators: dict[Slug, Evaluator] = {}
    sign: Sign = "auto"
    retire_after: Annotated[int, msgspec.Meta(ge=1)] | None = None


class Config(Record, frozen=True, kw_only=True):
    """One person's settings, `$XDG_CONFIG_HOME/kgrade/config.yaml`. `keys` rebinds actions."""

    schema: Literal["kgrade/config@1"] = "kgrade/config@1"

    evaluator: Slug | None = None
    theme: Literal["ansi", "dark", "light"] = "ansi"
    color: Literal["auto", "truecolor", "256", "16", "none"] = "auto"
    single_keys: bool = True
    mouse: bool = False
    keys: dict[str, list[str]] = {}
