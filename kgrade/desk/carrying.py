"""What goes along with a claim in one push: the grade saved before it, and the mark that its item is done."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kgrade.desk.claiming import Claiming
from kgrade.desk.sending import Sending
from kgrade.repository.claims import RefMover
from kgrade.repository.refs import RefMove
from kgrade.repository.remote_claims import RemoteRefs


class GradeAndMarks:
    """The luggage of one desk's claims."""

    def __init__(self, claiming: Claiming, sending: Sending) -> None:
        self._claiming = claiming
        self._sending = sending

    def load(self) -> Sequence[RefMove]:
        """The grade that waits and the marks for it; nothing where a step sends them already."""
        grade = self._sending.load()
        return [*grade, *self._claiming.marks()] if grade else []

    def unload(self, moves: Sequence[RefMove], taken: Collection[str], *, refused: bool) -> None:
        """Note what of it the remote took."""
        self._claiming.went_along(taken)
        self._sending.unload(moves, taken, refused=refused)


def carry(refs: RefMover, claiming: Claiming, sending: Sending) -> bool:
    """Let claims take grades along, where both go to a remote; whether they do."""
    if not isinstance(refs, RemoteRefs):
        return False
    refs.luggage = GradeAndMarks(claiming, sending)
    return True
