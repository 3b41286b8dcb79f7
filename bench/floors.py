# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""The floors of bench/floors.toml, and whether figures hold them."""

import tomllib
from pathlib import Path

import figures as fig

FILE = Path(__file__).resolve().parent / "floors.toml"


def load(path=FILE):
    """All floors as they are written down."""
    return tomllib.loads(path.read_text())["floor"]


def concerns(floor, kernel):
    """Whether a floor is meant for a kernel: those it names, or all."""
    return kernel in floor.get("kernels", [kernel])


def _ratio(floor, measured, kernel):
    upper = fig.median(measured, kernel=kernel, settings={}, **floor["of"])
    lower = fig.median(measured, kernel=kernel, settings={}, **floor["to"])
    return upper / lower if upper and lower else None


def _highest_count(floor, measured, kernel):
    found = fig.select(measured, kernel=kernel, settings={}, **floor["of"])
    return max((f["counts"]["per_request"][floor["count"]] for f in found if "counts" in f),
               default=None)


def value(floor, measured, kernel):
    """What the figures say: a ratio of medians, or the highest count; None if not measured."""
    return (_highest_count if "count" in floor else _ratio)(floor, measured, kernel)


def limit(floor):
    """The floor in words."""
    return f"at most {floor['at_most']}" if "count" in floor else f"at least {floor['at_least']}"


def held(floor, found):
    """Whether a value is good enough; what was not measured is not."""
    if found is None:
        return False
    return found <= floor["at_most"] if "count" in floor else found >= floor["at_least"]
