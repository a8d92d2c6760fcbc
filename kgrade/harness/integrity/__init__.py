"""Static analysis of submissions: what a person should look at before a number is believed.

Nothing of a submission is run. `analyse` gives findings, `findings` the same from a process with limits,
`findings_of_each` that of many by several processes at once, and `stage` the integrity stage of an item's evidence.
"""

from kgrade.harness.integrity.analysis import analyse, overall
from kgrade.harness.integrity.walled import findings, findings_of_each, stage

__all__ = ["analyse", "findings", "findings_of_each", "overall", "stage"]
