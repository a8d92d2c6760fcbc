"""The classifier: its table, the order of its kinds, and text that only quotes."""

import re

import pytest

from kgrade.harness.failures import HARMLESS, KINDS, classify, signatures


def kind(text):
    failure = classify(text)
    return failure and failure.kind


def test_every_row_advises_in_one_sentence():
    assert len(signatures()) > 300
    for row in signatures():
        assert row.advice.endswith("."), row.pattern
        assert "\n" not in row.advice
        assert 20 < len(row.advice) < 160, row.pattern
        assert row.kind in (*KINDS, HARMLESS)


def test_every_row_is_found_by_its_own_words():
    """Each pattern, written as its tool would, is found; what wins may be a kind earlier in the order."""
    for row in signatures():
        if row.origin.startswith("cuda runtime"):
            _code, name, text = row.pattern.split(" ", 2)
            logs = [f"RuntimeError: CUDA error: {text}", f"cudaLaunchKernel failed ({name})"]
        else:
            logs = ["RuntimeError: " + " x ".join(row.parts)]
        for log in logs:
            failure = classify(log)
            if row.kind == HARMLESS:
                assert failure is None, row.pattern
            else:
                assert failure is not None, log
                assert KINDS.index(failure.kind) <= KINDS.index(row.kind), log


def test_the_table_holds_every_runtime_error_once():
    codes = [int(row.pattern.split()[0]) for row in signatures() if row.origin.startswith("cuda runtime")]
    assert len(set(codes)) == 133
    assert {0, 1, 2, 9, 209, 700, 716, 912, 999} <= set(codes)


def test_sticky_faults_are_device_faults():
    by_code = {int(row.pattern.split()[0]): row for row in signatures() if row.origin.startswith("cuda runtime")}
    assert {by_code[code].kind for code in (700, 702, 710, 714, 715, 716, 717, 718, 719, 721)} == {"device-fault"}


def test_the_environment_comes_before_what_follows_from_it():
    log = 'main.cu(3): error: identifier "x" is undefined\nRuntimeError: CUDA error: no CUDA-capable device is detected'
    assert kind(log) == "environment"


def test_the_compiler_comes_before_the_launch_it_makes_fail():
    log = 'RuntimeError: CUDA error: invalid argument\nk.cu(3): error: expected a ";"\n'
    failure = classify(log)
    assert (failure.kind, failure.line) == ("compile", 'k.cu(3): error: expected a ";"')


def test_the_longer_of_two_texts_at_one_place_is_meant():
    assert "earlier launch" in classify("CUDA error: unspecified launch failure in prior launch").advice
    assert "compute-sanitizer" in classify("CUDA error: unspecified launch failure").advice


def test_a_specific_row_is_named_before_a_general_one():
    log = "triton.compiler.errors.CompilationError: at 3:8:\ndef k(x):\n    ^\narange's range must be a power of 2"
    assert classify(log).line == "arange's range must be a power of 2"
    assert classify(log.rsplit("\n", 1)[0]).line == "triton.compiler.errors.CompilationError: at 3:8:"


def test_whose_fault_and_whether_to_retry():
    failure = classify("RuntimeError: CUDA error: uncorrectable ECC error encountered")
    assert (failure.fault, failure.retry) == ("environment", True)
    failure = classify("torch.AcceleratorError: CUDA error: an illegal memory access was encountered")
    assert (failure.fault, failure.retry) == ("submission", False)
    assert classify("nvcc fatal   : Unknown option '--fast'").fault == "task"


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("[rank0]: RuntimeError: CUDA error: out of memory", "memory"),
        ("RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered", "device-fault"),
        ("E       RuntimeError: CUDA error: misaligned address", "device-fault"),
        ("GPUassert: an illegal memory access was encountered kernel.cu 12", "device-fault"),
        ("terminate called\n  what():  CUDA error at k.cu:12: invalid configuration argument", "launch"),
        ("ptxas /tmp/x.ptx, line 12; error   : Instruction 'wgmma.fence' not supported on .target 'sm_90'", "compile"),
        ("ptxas error   : Entry function 'k' uses too much shared data (0x20000 bytes, 0xc000 max)", "compile"),
        ("nvlink error   : Undefined reference to '_Z3fooi' in 'a.o'", "link"),
        ("/usr/bin/ld: a.o: undefined reference to `f'\ncollect2: error: ld returned 1 exit status", "link"),
        ("OSError: ./k.so: undefined symbol: _Z6launchPf", "link"),
        ("process ended with exit status 139", "timeout"),
        ("Error(s) in loading state_dict for Model:\n\tMissing key(s) in state_dict: \"w\".", "shape"),
        ("triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 300000, "
         "Hardware limit: 232448. Reducing block sizes or `num_stages` may help.", "launch"),
        ("INTERNAL: Mosaic failed to compile TPU kernel: Not implemented: cast", "compile"),
        ("ERROR: [NCC_EVRF005] dtype not supported", "compile"),
        ("Memory access fault by GPU node-2 (Agent handle: 0x1) on address 0x7f.", "device-fault"),
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", "environment"),
        ("InterpreterError: NameError(\"name 'foo' is not defined\")", "compile"),
    ],
)  # fmt: skip
def test_forms_in_which_tools_print_their_messages(log, expected):
    assert kind(log) == expected


@pytest.mark.parametrize(
    "log",
    [
        "> RuntimeError: CUDA error: an illegal memory access was encountered",
        "    raise RuntimeError('CUDA error: an illegal memory access was encountered')",
        "# CUDA out of memory. Tried to allocate 2 GiB used to happen here",
        '// k.cu(3): error: identifier "x" is undefined',
        "See the log:\n```\nRuntimeError: CUDA error: out of memory\n```\nwhich was fixed.",
        'print("CUDA error: an illegal memory access was encountered")',
        "The note said `CUDA out of memory. Tried to allocate 3 GiB`, and that is solved.",
        "If you see RuntimeError: CUDA error: out of memory, lower the batch size.",
        "A previous run ended: CUDA error: misaligned address",
        "+    assert ok, 'Tensor-likes are not close!'",
        "- RuntimeError: CUDA error: device-side assert triggered",
        'k.cu(4): note: declared here\n  const char *text = message; // error: expected a ";"\n              ^\n',
        '   12 |   throw std::runtime_error("CUDA error: out of memory");',
        "at 2:4:\ndef k(x):\n    # arange's range must be a power of 2\n"
        "arange's range must be a power of 2\n    ^\nsomething else",
        "* size mismatch for weight: expected in the changelog",
        "such as RuntimeError: The size of tensor a (3) must match",
        "/*\n * collect2: error: ld returned 1 exit status\n */",
        '\tif (e) printf("x: misaligned address"); // CUDA error: misaligned address',
        "> E   RuntimeError: Triton Error [CUDA]: device kernel image is invalid",
        "# ptxas error   : Entry function 'k' uses too much shared data (0x20000 bytes, 0xc000 max)",
    ],
)
def test_text_that_only_quotes_is_passed_over(log):
    assert classify(log) is None


@pytest.mark.parametrize(
    "log",
    [
        "",
        "OSError: [Errno 22] Invalid argument",
        "CUDA error: no error",
        "ptxas info    : Used 32 registers, 0 bytes spill stores",
        "all 12 cases passed in 0.4 s",
        "exit status 1390",
        "ValueError: invalid argument for --size",
    ],
)
def test_what_is_no_known_failure_is_none(log):
    assert classify(log) is None


def test_a_long_line_is_cut():
    failure = classify("RuntimeError: CUDA error: out of memory " + "x" * 5000)
    assert failure is None or len(failure.line) <= 400
    assert len(classify("CUDA out of memory. Tried to allocate " + "9" * 5000).line) == 400


def test_advice_names_no_signature_itself():
    """Evidence may be read again by the classifier's users; advice must not look like a failure."""
    for row in signatures():
        assert classify(row.advice) is None, row.advice
        assert not re.search(r"\bTODO\b", row.advice)
