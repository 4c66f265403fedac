"""Turns at what there is little of."""

from __future__ import annotations

import asyncio

import pytest

pytestmark = pytest.mark.service


def test_one_user_s_pile_holds_up_no_others():
    from facefusion.service.api.turns import Turns

    order: list[str] = []
    most: list[int] = []

    async def run():
        turns, busy = Turns(3, 2), 0

        async def work(subject):
            nonlocal busy
            async with turns.taken(subject):
                busy += 1
                most.append(busy)
                await asyncio.sleep(0.02)
                busy -= 1
            order.append(subject)

        pile = [asyncio.ensure_future(work("ann")) for _ in range(8)]
        await asyncio.sleep(0)
        await asyncio.gather(*pile, work("bob"))

    asyncio.run(run())
    assert max(most) == 3
    assert order.index("bob") <= 2
    assert order.count("ann") == 8


def test_a_turn_is_given_back_however_it_ends():
    from facefusion.service.api.turns import Turns

    async def run():
        turns = Turns(1, 1)
        for _ in range(3):
            with pytest.raises(ValueError, match="no"):
                async with turns.taken("ann"):
                    raise ValueError("no")
        async with turns.taken("bob"):
            return True

    assert asyncio.run(asyncio.wait_for(run(), 5))
