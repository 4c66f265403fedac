from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.doctor.advice import OTHER_ACCELERATORS, Kind, advise
from facefusion.doctor.graphics import Unit
from facefusion.inference.providers.registry import PROVIDERS
from tests.doctor.machines import NVIDIA, facts, machine, settings

A100 = ("NVIDIA A100-SXM4-80GB", 81920, 80000)
RTX = ("NVIDIA GeForce RTX 4090", 24564, 23000)
OLD = ("NVIDIA GeForce GTX 1660", 6144, 5900)


def values(advice):
    return {one.option: one.value for one in advice.settings}


def reason(advice, option):
    return next(one.reason for one in advice.settings if one.option == option)


@pytest.mark.parametrize(
    "name", ["NVIDIA A100-SXM4-80GB", "NVIDIA RTX A6000", "NVIDIA H100 PCIe", "NVIDIA H200", "NVIDIA L40S"]
)
def test_a_datacentre_card_gets_tensorrt_in_half_precision_with_all_models_loaded(name):
    advice = advise(facts((name, 81920, 80000)))
    assert (advice.kind, advice.name, advice.height) == (Kind.DATACENTRE, name, None)
    assert values(advice) == {
        "execution_providers": ("tensorrt", "cuda", "cpu"),
        "execution_device_ids": (0,),
        "execution_thread_count": 32,
        "inference_precision": "half",
        "video_memory_strategy": "aggressive",
    }


def test_several_cards_alike_share_the_frames():
    advice = advise(facts(A100, A100, A100, RTX))
    assert values(advice)["execution_device_ids"] == (0, 1, 2)
    assert reason(advice, "execution_device_ids") == "3 cards alike share the frames"


def test_a_card_that_others_use_is_left_to_them():
    busy = ("NVIDIA A100-SXM4-80GB", 81920, 20000)
    assert values(advise(facts(A100, busy, A100)))["execution_device_ids"] == (0, 2)
    assert values(advise(facts(busy, RTX)))["execution_device_ids"] == (1,)


def test_without_tensorrt_a_datacentre_card_gets_cuda_and_the_reason_says_so():
    advice = advise(facts(A100, usable=("cuda", "cpu")))
    assert values(advice)["execution_providers"] == ("cuda", "cpu")
    assert reason(advice, "execution_providers") == "tensorrt would be quicker still, and does not work here"
    assert reason(advice, "inference_precision").endswith("cuda keeps to the precision of each model's file")


def test_an_rtx_card_gets_cuda_in_half_precision():
    advice = advise(facts(RTX, cores=8))
    assert (advice.kind, advice.height) == (Kind.RTX, None)
    assert values(advice) == {
        "execution_providers": ("cuda", "cpu"),
        "execution_device_ids": (0,),
        "execution_thread_count": 16,
        "inference_precision": "half",
        "video_memory_strategy": "balanced",
    }


def test_another_nvidia_card_gets_full_precision_and_with_little_memory_smaller_videos():
    advice = advise(facts(OLD, cores=6))
    assert (advice.kind, advice.height) == (Kind.OTHER, 1080)
    assert values(advice)["execution_providers"] == ("cuda", "cpu")
    assert values(advice)["inference_precision"] == "auto"
    assert values(advice)["video_memory_strategy"] == "conservative"
    assert advise(facts(("NVIDIA GeForce RTX 2080 Ti", 11264, 11000))).height is None


@pytest.mark.parametrize(
    ("total", "free", "strategy", "why"),
    [
        (81920, 80000, "aggressive", "all models fit into the 84 GB free"),
        (81920, 30000, "conservative", "other programs hold 54 GB of card 0"),
        (16384, 15000, "balanced", "the card has 16 GB free"),
        (8192, 5000, "conservative", "the card has 5.2 GB free"),
        (81920, -1, "balanced", "the card does not tell what it has free"),
    ],
)
def test_the_memory_strategy_follows_what_is_free(total, free, strategy, why):
    advice = advise(facts(("NVIDIA A100-SXM4-80GB", total, free)))
    assert values(advice)["video_memory_strategy"] == strategy
    assert reason(advice, "video_memory_strategy") == why


def test_cuda_without_a_report_of_cards_as_in_some_containers_names_no_device():
    advice = advise(facts(usable=("cuda", "cpu")))
    assert (advice.kind, advice.name) == (Kind.OTHER, "")
    assert values(advice)["execution_providers"] == ("cuda", "cpu")
    assert "execution_device_ids" not in values(advice)


@pytest.mark.parametrize(
    ("provider", "unit", "kind", "precision", "height"),
    [
        ("migraphx", Unit("AMD"), Kind.OTHER, "auto", None),
        ("rocm", Unit("AMD"), Kind.OTHER, "auto", None),
        ("coreml", Unit("Apple", "Apple silicon"), Kind.OTHER, "auto", None),
        ("openvino", Unit("Intel", is_integrated=True), Kind.INTEGRATED, "auto", 1080),
        ("openvino", Unit("Intel"), Kind.OTHER, "auto", None),
        ("directml", Unit("AMD", "AMD Radeon RX 7800 XT"), Kind.OTHER, "auto", None),
        ("cann", Unit("Huawei"), Kind.OTHER, "half", None),
    ],
)
def test_hardware_of_others_gets_the_provider_that_works_with_it(provider, unit, kind, precision, height):
    advice = advise(facts(usable=(provider, "cpu"), units=(unit,), cores=8))
    assert (advice.kind, advice.name, advice.height) == (kind, str(unit), height)
    assert values(advice) == {
        "execution_providers": (provider, "cpu"),
        "execution_thread_count": 16,
        "inference_precision": precision,
        "video_memory_strategy": "balanced",
    }


@pytest.mark.parametrize(
    ("cores", "memory", "threads", "strategy", "height"),
    [
        (2, 4, 2, "conservative", 720),
        (0.5, 16, 1, "balanced", 720),
        (8, 32, 8, "balanced", 1080),
        (64, 256, 32, "balanced", None),
    ],
)
def test_a_processor_alone_gets_a_thread_for_each_core_and_smaller_videos(cores, memory, threads, strategy, height):
    advice = advise(facts(usable=("cpu",), cores=cores, memory=memory))
    assert (advice.kind, advice.name, advice.height, advice.note) == (Kind.NONE, "", height, "")
    assert values(advice) == {
        "execution_providers": ("cpu",),
        "execution_thread_count": threads,
        "inference_precision": "auto",
        "video_memory_strategy": strategy,
    }


def test_a_card_that_does_not_work_is_to_be_mended_first():
    advice = advise(facts(A100, usable=("cpu",)))
    assert advice.kind is Kind.NONE
    assert advice.note.startswith("NVIDIA A100-SXM4-80GB could do the work: see what stands in its way above")


def test_what_the_user_chose_bounds_the_advice():
    whole = facts(A100, A100)
    assert values(advise(whole.within(("cuda",), ())))["execution_providers"] == ("cuda",)
    assert values(advise(whole.within(("cpu",), ()))) == values(advise(facts(usable=("cpu",))))
    assert values(advise(whole.within((), (1,))))["execution_device_ids"] == (1,)


@pytest.mark.parametrize(("lines", "scale"), [(240, None), (720, None), (1080, 0.6667), (2160, 0.3333), (4320, 0.25)])
def test_a_larger_video_is_scaled_down_to_the_height_advised(lines, scale):
    assert advise(facts(usable=("cpu",), cores=2)).scale(lines) == scale


cards = st.lists(
    st.tuples(
        st.sampled_from([A100[0], RTX[0], OLD[0], "NVIDIA T1000", "NVIDIA RTX PRO 6000 Blackwell"]),
        st.integers(1000, 200_000),
        st.integers(-1, 200_000),
    ),
    max_size=8,
)


@given(
    cards=cards,
    usable=st.sets(st.sampled_from((*NVIDIA[:2], *OTHER_ACCELERATORS))),
    cores=st.floats(0.1, 256),
    memory=st.integers(1, 1024),
)
def test_advice_is_always_allowed_and_uses_only_what_works(cards, usable, cores, memory):
    ordered = tuple(name for name in PROVIDERS.names if name in usable or name == "cpu")
    seen = replace(facts(*cards, usable=ordered), machine=machine(cores, memory))
    advice = advise(seen)
    chosen = values(advice)
    assert set(chosen["execution_providers"]) <= set(ordered)
    assert chosen["execution_providers"][-1] == "cpu"
    assert set(chosen.get("execution_device_ids", ())) <= {gpu.index for gpu in seen.gpus}
    assert all(one.reason for one in advice.settings)
    assert settings(**chosen).origin("execution_providers").given
