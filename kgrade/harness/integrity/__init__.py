"""Static analysis of submissions: what a person should look at before a number is believed.

Nothing of a submission is run. `analyse` gives findings, `stage` the integrity stage of an item's evidence.
"""

from kgrade.harness.integrity.analysis import analyse, overall, stage

__all__ = ["analyse", "overall", "stage"]
