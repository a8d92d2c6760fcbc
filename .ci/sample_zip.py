"""Build hook: the wheel carries the sample queue as `kgrade/sample.zip`; an editable install reads the folders."""

from __future__ import annotations

import runpy
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SampleZip(BuildHookInterface[Any]):
    """Write the archive outside the tree, hand it to the builder, remove it when the wheel is done."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the archive to every wheel but the editable one."""
        if version == "editable":
            return
        # Run by path: the package itself cannot be imported where only the build's own requirements are installed.
        write_archive = runpy.run_path(str(Path(self.root, "kgrade", "sample.py")))["write_archive"]
        with tempfile.NamedTemporaryFile(prefix="kgrade-sample-", suffix=".zip", delete=False) as archive:
            write_archive(Path(self.root), archive)
        self._archive = Path(archive.name)
        build_data["force_include"][archive.name] = "kgrade/sample.zip"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the archive."""
        if version != "editable":
            self._archive.unlink()
