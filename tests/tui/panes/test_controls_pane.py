from kgrade.desk.sheet import Sheet
from kgrade.records.evidence import Case, CaseCheck, Check, Control, Proposal
from kgrade.tui.panes import task
from tests.tui.panes.builders import evidence, item
from tests.tui.panes.shown import shown

EMPTY = Sheet()
CHECK = Check(
    status="flagged",
    reason="zeros pass",
    cases=[CaseCheck(case=Case(symbols={"M": 1}, dtype="float32"), status="passed")],
    controls=[
        Control(name="zeros", tried=8, passes=["M=1 float32 normal"]),
        Control(name="lower precision inside", tried=8, passes=["a", "b"], undetected=["float32", "bfloat16"]),
        Control(name="one element off", tried=7),
    ],
    proposals=[
        Proposal(dtype="float32", atol=1e-7, rtol=4.8e-7, derivation="rtol: 4 units in the last place of float32"),
        Proposal(dtype="float64", atol=0, rtol=1e-15, derivation="rtol: 2 units", passes=["zeros"]),
    ],
)


def test_the_task_under_review_says_which_wrong_kernels_would_pass_and_proposes_a_tolerance():
    lines = shown(task.pane(item({"cpu": evidence(check=CHECK)}, submission=None), EMPTY).lines, 100)
    start = next(number for number, line in enumerate(lines) if "wrong kernels" in line)
    assert "1 would pass the check" in lines[start]
    rows = [" ".join(line.split()) for line in lines[start + 2 : start + 5]]
    assert rows == [
        "lower precision inside 8 cases 2 ! would pass in f32, bf16",
        "zeros 8 cases 1 ✓ fails, though not at M=1 float32 normal",
        "one element off 7 cases 0 ✓ fails wherever it is wrong",
    ]
    rest = "\n".join(lines[start + 5 :])
    assert "f32  |got-ref| <= 1e-7 + 4.8e-7*|ref|" in rest
    assert "the task says |got-ref| <= 1e-9 + 2e-6*|ref|, or 8 ulp" in rest
    assert "rtol: 4 units in the last place of float32" in rest
    assert "the task says no row" in rest
    assert "! it would still pass: zeros" in rest


def test_a_submission_is_not_told_what_the_tasks_check_is_worth():
    lines = shown(task.pane(item({"cpu": evidence(check=CHECK)}), EMPTY).lines)
    assert not any("wrong kernels" in line for line in lines)


def test_controls_on_other_bytes_are_marked():
    lines = shown(task.pane(item({"cpu": evidence(check=CHECK)}, submission=None, stale=("cpu",)), EMPTY).lines)
    assert any("! stale: the controls below" in line for line in lines)
