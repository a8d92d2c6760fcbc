"""CPU emulation: plain CUDA C++ runs on a CPU, one fiber for each CUDA thread.

A source is translated (launches, qualifiers, inline PTX), compiled by the system's C++ compiler against a small
runtime, and called like the real one, with pointers to the host's memory. It never yields a timing.
"""

from kgrade.harness.emulator.constructs import CannotRun
from kgrade.harness.emulator.translation import translate

__all__ = ["CannotRun", "translate"]
