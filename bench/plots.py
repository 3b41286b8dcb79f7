# SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0
"""Small bar charts and line charts as SVG, without a library."""

import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 760, 380
LEFT, RIGHT, TOP, BOTTOM = 64, 176, 48, 48
COLOURS = ("#2563a8", "#d97706", "#2f8f5b", "#9b3d8f", "#6b7280", "#b42318", "#0f766e",
           "#7dd3fc")


def _text(x, y, words, anchor="middle", size=12, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
            f'font-weight="{weight}">{escape(words)}</text>')


def _ticks(bottom, top):
    """About five round numbers from the bottom, which is not above zero, to the top."""
    step = 1.0
    while (top - bottom) / step > 6:
        step *= 2 if str(step)[0] in "15" else 2.5
    while (top - bottom) / step < 3:
        step /= 2
    return [i * step for i in range(math.ceil(bottom / step), int(top / step) + 1)]


class Chart:
    """A chart of several (name, values), each with one value or None for each group."""

    def __init__(self, title, unit, groups, series):
        known = [value for _, values in series for value in values if value is not None]
        self.groups = groups
        self.series = series
        self.bottom, self.top = 1.05 * min(known + [0]), 1.05 * max(known)
        self.legend = 0
        self.parts = [_text(LEFT, 24, title, "start", 15, "bold"), _text(LEFT, 40, unit, "start", 11)]
        self._axes()

    def _y(self, value):
        part = (value - self.bottom) / (self.top - self.bottom)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * part

    def _x(self, group):
        return LEFT + (WIDTH - LEFT - RIGHT) * (group + 0.5) / len(self.groups)

    def _axes(self):
        for tick in _ticks(self.bottom, self.top):
            y = self._y(tick)
            self.parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
                              f'stroke="#d4d4d8" stroke-width="{1.5 if tick == 0 else 0.6}"/>')
            self.parts.append(_text(LEFT - 8, y + 4, f"{tick:g}", "end", 11))
        for number, name in enumerate(self.groups):
            self.parts.append(_text(self._x(number), HEIGHT - BOTTOM + 18, name))

    def _legend(self, name, colour):
        y = TOP + 8 + 20 * self.legend
        self.legend += 1
        x = WIDTH - RIGHT + 16
        self.parts.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{colour}"/>')
        self.parts.append(_text(x + 18, y + 10, name, "start"))

    def lines(self):
        """One line for each series."""
        for (name, values), colour in zip(self.series, COLOURS):
            points = [(self._x(i), self._y(v)) for i, v in enumerate(values) if v is not None]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" '
                              'stroke-width="2.5"/>')
            self.parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'
                           for x, y in points]
            self._legend(name, colour)

    def bars(self):
        """One bar in each group for each series."""
        width = (WIDTH - LEFT - RIGHT) / len(self.groups) * 0.8 / len(self.series)
        for number, ((name, values), colour) in enumerate(zip(self.series, COLOURS)):
            for group, value in enumerate(values):
                if value is None:
                    continue
                x = self._x(group) + (number - len(self.series) / 2) * width
                ends = sorted((self._y(value), self._y(0)))
                self.parts.append(f'<rect x="{x:.1f}" y="{ends[0]:.1f}" width="{width - 2:.1f}" '
                                  f'height="{ends[1] - ends[0]:.1f}" fill="{colour}"/>')
            self._legend(name, colour)

    def write(self, path):
        """The whole chart as a file."""
        path.write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            'font-family="sans-serif" fill="#18181b">\n'
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>\n'
            + "\n".join(self.parts) + "\n</svg>\n")

