# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""Reading the JSON files that bench/collect writes."""

import json
import statistics


def load(paths):
    """Every figure of the files as one flat dictionary, with its boot's kernel, module and clock."""
    figures = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            boots = json.load(file)["boots"]
        for boot in boots:
            shared = {key: value for key, value in boot.items() if key != "figures"}
            figures += [shared | figure for figure in boot["figures"]]
    return figures


def select(figures, **wanted):
    """The figures whose named properties have the values wanted."""
    return [f for f in figures if all(f.get(key) == value for key, value in wanted.items())]


def values(figures, name="iops", **wanted):
    """One property of the figures selected."""
    return [figure[name] for figure in select(figures, **wanted)]


def median(figures, name="iops", **wanted):
    """The median of a property over repeated boots; None if it was not measured."""
    found = values(figures, name, **wanted)
    return statistics.median(found) if found else None


def spread(numbers):
    """The distance of the extremes as a part of the median."""
    return (max(numbers) - min(numbers)) / statistics.median(numbers)


def kernels(figures):
    """The kernels measured, oldest first."""
    return sorted({f["kernel"] for f in figures}, key=lambda k: [int(n) for n in k.split(".")])
