# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""The tables of docs/benchmarks.md and docs/tuning.md, as Markdown."""

import statistics

import figures as fig
import floors as floor_file

BACKSTORES = ("user:file", "user:block", "user:null", "user:qcow",
              "lio:fileio", "lio:block", "lio:ramdisk")
SIZES = ("4k", "8k", "16k", "32k")
WORKLOADS = tuple(f"randread-{size}" for size in SIZES) + ("mixed-4k", "randread-512")

# tcm_loop with a TCMU file handler, MiB/s before and after the change, randread at depth 32.
PUBLISHED = {"4k": (319, 344), "8k": (611, 651), "16k": (1109, 1248), "32k": (2200, 2456)}


def markdown(head, rows):
    """A table; the first column is text, the others are numbers."""
    rule = ["---"] + ["--:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, rule, *rows]) + "\n"


def number(value, form="{:.1f}"):
    """A value as text, a dash if it was not measured."""
    return "-" if value is None else form.format(value)


def ratio(upper, lower):
    """Their quotient, None if one is missing."""
    return upper / lower if upper and lower else None


def percent(value):
    """A ratio as a gain."""
    return "-" if value is None else f"{100 * (value - 1):+.1f} %"


def thousands(figures, **wanted):
    """Thousands of requests per second."""
    value = fig.median(figures, **wanted)
    return None if value is None else value / 1000


def gain(figures, **wanted):
    """The ratio of the direct to the stock module."""
    return ratio(*(fig.median(figures, module=module, **wanted) for module in ("direct", "stock")))


def throughput(figures, kernel):
    """Every backstore and workload: stock, direct and what the direct module gains."""
    rows = []
    for backstore in BACKSTORES:
        row = [f"`{backstore}`"]
        for workload in WORKLOADS:
            pair = [thousands(figures, kernel=kernel, module=module, backstore=backstore,
                              workload=workload, settings={}) for module in ("stock", "direct")]
            row.append(number(pair[0]))
            if pair[1]:
                row[-1] += f" / {number(pair[1])} ({percent(ratio(pair[1], pair[0]))})"
        rows.append(row)
    return markdown(["backstore", *(name.replace("-", " ") for name in WORKLOADS)], rows)


def gains(figures):
    """What direct completion gains user:file, with the published gain beside it."""
    rows = []
    for size in SIZES:
        before, after = PUBLISHED[size]
        row = [size, f"{before} → {after} MiB/s ({percent(after / before)})"]
        for kernel in fig.kernels(figures):
            wanted = {"kernel": kernel, "backstore": "user:file", "settings": {},
                      "workload": f"randread-{size}"}
            pair = [fig.median(figures, "bytes_per_second", module=module, **wanted)
                    for module in ("stock", "direct")]
            mib = [number(v and v / 2**20, "{:.0f}") for v in pair]
            row.append(f"{mib[0]} → {mib[1]} ({percent(ratio(pair[1], pair[0]))})")
        rows.append(row)
    return markdown(["block size", "published", *fig.kernels(figures)], rows)


COUNTS = (("uio_writes", "uio writes"), ("daemon_system_calls", "system calls of the daemon"),
          ("daemon_futex_calls", "of these futex"), ("context_switches", "context switches"),
          ("block_softirqs", "BLOCK softirqs"))


def counts(figures, kernel, module, workload="randread-4k"):
    """What one request costs apart from time, and how long it takes."""
    rows = []
    for backstore in BACKSTORES:
        found = fig.select(figures, kernel=kernel, module=module, backstore=backstore,
                           workload=workload, settings={})
        found = [f for f in found if "counts" in f]
        if not found:
            continue
        figure = found[0]
        each = figure["counts"]["per_request"]
        latency = figure["completion_latency_us"]
        rows.append([f"`{backstore}`", *(f"{each[key]:.2f}" for key, _ in COUNTS),
                     *(f"{latency[p]:.0f}" for p in ("p50", "p95", "p99", "p99.9"))])
    return markdown(["backstore", *(title for _, title in COUNTS),
                     "p50 µs", "p95", "p99", "p99.9"], rows)


def _who_waited(found):
    """The average of contended locks over figures: all of them, and the four most frequent."""
    callers = {}
    for figure in found:
        for caller, count in figure["counts"]["contended_per_thousand"].items():
            callers[caller] = callers.get(caller, 0) + count / len(found)
    most = sorted(callers.items(), key=lambda item: -item[1])
    return [f"{sum(callers.values()):.1f}",
            ", ".join(f"`{name}` {count:.1f}" for name, count in most[:4]) or "none"]


def _counted(figures, **wanted):
    return [f for f in fig.select(figures, **wanted) if "counts" in f]


def contended(figures, kernel, module, workload="randread-512"):
    """Contended locks of the kernel per thousand requests, by who waited for them."""
    rows = []
    for backstore in BACKSTORES:
        found = _counted(figures, kernel=kernel, module=module, backstore=backstore,
                         workload=workload, settings={})
        if found:
            rows.append([f"`{backstore}`", *_who_waited(found)])
    return markdown(["backstore", "all", "by who waited"], rows)


def contended_by_module(figures, kernel, workload):
    """The same for user:file with either module, whatever else was set."""
    rows = [[module, *_who_waited(_counted(figures, kernel=kernel, module=module,
                                           backstore="user:file", workload=workload))]
            for module in ("stock", "direct")]
    return markdown(["tcm_loop", "all", "by who waited"], rows)


def repeatability(figures):
    """How far figures of the same kind lie apart, and how often fio was switched away from in each."""
    rows = []
    keys = sorted({(f["kernel"], f["module"], f["backstore"], f["workload"]) for f in figures})
    for kernel, module, backstore, workload in keys:
        wanted = {"kernel": kernel, "module": module, "backstore": backstore, "workload": workload,
                  "settings": {}}
        found = fig.values(figures, **wanted)
        switches = fig.values(figures, "fio_switches_per_request", **wanted)
        if len(found) > 1:
            rows.append([f"{kernel}, {module}, `{backstore}`, {workload.replace('-', ' ')}",
                         ", ".join(f"{value / 1000:.2f}" for value in found),
                         f"{100 * fig.spread(found):.2f} %",
                         ", ".join(f"{value:.2f}" for value in switches)])
    return markdown(["figure", "thousands of requests per second", "extremes apart",
                     "fio's context switches per request"], rows)


def floors(figures):
    """Every floor, with what was measured on the kernels that it is meant for."""
    rows = []
    for floor in floor_file.load():
        row = [floor["name"], f"{floor_file.limit(floor)}"]
        for kernel in fig.kernels(figures):
            found = None
            if floor_file.concerns(floor, kernel):
                found = floor_file.value(floor, figures, kernel)
            row.append(number(found, "{:.3f}"))
        rows.append(row)
    return markdown(["floor", "must be", *fig.kernels(figures)], rows)


def _per_request(figures, name, **wanted):
    """The median of a count per request."""
    found = [f["counts"]["per_request"][name] for f in fig.select(figures, **wanted) if "counts" in f]
    return statistics.median(found) if found else None


def _pair(figures, get, form, **wanted):
    """What get() finds with the stock and with the direct module, as "STOCK → DIRECT"."""
    return " → ".join(number(get(figures, module=module, **wanted), form)
                      for module in ("stock", "direct"))


def direct_costs(figures):
    """What direct completion changes for user:file, per request."""
    def count_of(name):
        return lambda figures, **wanted: _per_request(figures, name, **wanted)

    def instructions(figures, **wanted):
        iops = fig.median(figures, **wanted)
        return iops and 1e9 / iops

    def fio_switches(figures, **wanted):
        return fig.median(figures, "fio_switches_per_request", **wanted)

    rows = []
    for kernel in fig.kernels(figures):
        for workload in ("randread-4k", "randread-32k", "single-4k"):
            wanted = {"kernel": kernel, "backstore": "user:file", "workload": workload}
            rows.append([f"{kernel}, {workload.replace('-', ' ')}",
                         _pair(figures, count_of("uio_writes"), "{:.2f}", **wanted),
                         _pair(figures, count_of("block_softirqs"), "{:.2f}", **wanted),
                         _pair(figures, count_of("context_switches"), "{:.1f}", **wanted),
                         _pair(figures, fio_switches, "{:.2f}", **wanted),
                         _pair(figures, instructions, "{:.0f}", **wanted),
                         percent(gain(figures, **wanted))])
    return markdown(["stock → direct", "uio writes", "BLOCK softirqs", "context switches",
                     "of fio", "instructions", "gain"], rows)


def ratio_with_spread(upper, lower):
    """The ratio of the medians, and the lowest and highest of the boots in their order."""
    if not upper or not lower:
        return "-"
    each = sorted(u / l for u, l in zip(upper, lower))
    return f"{statistics.median(each):.2f} ({each[0]:.2f} to {each[-1]:.2f})"


def parallel(figures, kernel):
    """Ratios of boots with processors in parallel."""
    rows = []
    for workload in ("randread-4k", "mixed-4k", "randread-512"):
        def iops(module, backstore):
            # pylint: disable=cell-var-from-loop
            return fig.values(figures, kernel=kernel, module=module, backstore=backstore,
                              workload=workload, settings={})
        rows.append([workload.replace("-", " "),
                     ratio_with_spread(iops("direct", "user:file"), iops("stock", "user:file")),
                     ratio_with_spread(iops("stock", "user:file"), iops("stock", "user:qcow")),
                     ratio_with_spread(iops("stock", "user:file"), iops("stock", "lio:fileio"))])
    return markdown(["workload", "`user:file` direct / stock", "`user:file` / `user:qcow`",
                     "`user:file` / `lio:fileio`"], rows)


def settings_text(settings):
    """Settings as an administrator names them."""
    return ", ".join(f"`{key.partition(':')[2]}={value}`" for key, value in settings.items())


def completion_cpu(figures, kernel):
    """Throughput by completion processor and rq_affinity, relative to the defaults; and counts."""
    base = fig.values(figures, kernel=kernel, module="stock",
                      settings={"target:cmd_completion_affinity": "-1", "queue:rq_affinity": "1"})
    combinations = []
    for figure in fig.select(figures, kernel=kernel):
        if figure["settings"] not in combinations:
            combinations.append(figure["settings"])
    rows = []
    for settings in combinations:
        wanted = {"kernel": kernel, "settings": settings}
        row = [settings_text(settings)]
        row += [ratio_with_spread(fig.values(figures, module=module, **wanted), base)
                for module in ("stock", "direct")]
        for name, form in (("block_softirqs", "{:.2f}"), ("context_switches", "{:.1f}")):
            row.append(_pair(figures, lambda found, name=name, **by: _per_request(found, name, **by),
                             form, **wanted))
        rows.append(row)
    return markdown(["setting", "stock", "direct", "BLOCK softirqs, stock → direct",
                     "context switches"], rows)


def tuning(figures, workload):
    """What each setting does to one workload, against the same without it."""
    boots = [(kernel, module) for kernel in fig.kernels(figures) for module in ("stock", "direct")
             if fig.select(figures, kernel=kernel, module=module)]
    found = fig.select(figures, workload=workload)
    combinations = []
    for figure in found:
        if figure["settings"] and figure["settings"] not in combinations:
            combinations.append(figure["settings"])

    def iops(boot, settings):
        return fig.median(found, kernel=boot[0], module=boot[1], settings=settings)

    rows = [["nothing: thousands of requests per second",
             *(number(iops(boot, {}) / 1000) for boot in boots)]]
    rows += [[settings_text(settings), *(percent(ratio(iops(boot, settings), iops(boot, {})))
                                         for boot in boots)] for settings in combinations]
    return markdown(["set", *(" ".join(boot) for boot in boots)], rows)
