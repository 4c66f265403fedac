from __future__ import annotations

import json

from facefusion.app.engine import Engine
from facefusion.cli.main import program_schema
from facefusion.config.ini import parse_ini
from facefusion.config.sources import from_entries
from facefusion.doctor.advice import advise
from facefusion.doctor.finding import Finding, Level, fault, note, ok, warning
from facefusion.doctor.report import conclusion, document, headline, ini_lines, line
from tests.doctor.machines import facts

SCHEMA = program_schema(Engine())
H200 = ("NVIDIA H200", 143771, 143000)


def test_a_finding_is_one_line_in_columns():
    assert line(ok("python", "Python 3.11")) == "ok       python    Python 3.11"
    assert line(warning("package", "numpy\nis old.", "Run: pip")) == "warning  package   numpy is old. Run: pip"


def test_the_conclusion_counts():
    assert conclusion([ok("a", "b"), note("a", "b")]) == "Ready to run."
    assert conclusion([warning("a", "b")]) == "Ready to run (1 warning)."
    assert conclusion([fault("a", "b"), fault("a", "b"), warning("a", "b")]) == (
        "A run with these settings cannot work (2 faults, 1 warning)."
    )


def test_advice_is_an_ini_file_that_the_program_reads():
    advice = advise(facts(H200, H200, cores=16))
    text = "\n".join(ini_lines(advice, SCHEMA))
    assert text == "\n".join(
        [
            "[execution]",
            "# engines compiled for the card are the quickest; each graph is compiled once, for tens of seconds",
            "execution_providers = tensorrt cuda cpu",
            "# 2 cards alike share the frames",
            "execution_device_ids = 0 1",
            "# twice the 16 processors, up to 32: threads mostly wait for the device",
            "execution_thread_count = 32",
            "",
            "[inference]",
            "# half the memory and twice the speed on its tensor cores, with hardly a visible difference",
            "inference_precision = half",
            "",
            "[memory]",
            "# all models fit into the 150 GB free",
            "video_memory_strategy = aggressive",
        ]
    )
    values, _ = from_entries(SCHEMA, parse_ini(text, "advice"))
    assert values["execution_device_ids"].words == ("0", "1")
    assert headline(advice) == (
        "Recommended here (a datacentre card, NVIDIA H200); --auto-tune sets it for a run, these lines in "
        "facefusion.ini for good:"
    )


SMALLER = "# videos of more than 720 lines should be made smaller: the processor does everything, and a video of 2160p "


def test_a_smaller_size_is_a_comment_as_long_as_no_target_is_known():
    lines = ini_lines(advise(facts(usable=("cpu",), cores=2)), SCHEMA)
    assert lines[-5:-3] == ["", "[output_creation]"]
    assert lines[-3].startswith(SMALLER)
    assert lines[-2:] == [
        "# for one of 2160 lines; --auto-tune looks at each target:",
        "# output_video_scale = 0.3333",
    ]
    parse_ini("\n".join(lines), "advice")


def test_for_a_target_that_is_named_the_size_is_a_value():
    advice = advise(facts(usable=("cpu",), cores=2))
    lines = ini_lines(advice, SCHEMA, 1080)
    assert lines[-4:-2] == ["", "[output_creation]"]
    assert lines[-1] == "output_video_scale = 0.6667"
    assert "[output_creation]" not in ini_lines(advice, SCHEMA, 720)


def test_a_note_comes_first():
    lines = ini_lines(advise(facts(H200, usable=("cpu",))), SCHEMA)
    assert lines[:3] == [
        "# NVIDIA H200 could do the work: see what stands in its way above, then ask again",
        "",
        "[execution]",
    ]


def test_the_document_holds_all_of_it():
    findings = [Finding(Level.FAULT, "provider", "cuda cannot be used", "Add cpu.")]
    table = json.loads(document(findings, advise(facts(H200)), SCHEMA))
    assert table["ready"] is False
    assert table["findings"] == [
        {"level": "fault", "topic": "provider", "text": "cuda cannot be used", "remedy": "Add cpu."}
    ]
    assert (table["advice"]["kind"], table["advice"]["device"]) == ("datacentre", "NVIDIA H200")
    assert table["advice"]["settings"][0] == {
        "section": "execution",
        "option": "execution_providers",
        "value": ["tensorrt", "cuda", "cpu"],
        "reason": "engines compiled for the card are the quickest; each graph is compiled once, for tens of seconds",
    }
    assert json.loads(document([], None, SCHEMA)) == {"ready": True, "findings": [], "advice": None}
