"""The Prometheus text exposition format, as much of it as Iris writes."""

from __future__ import annotations

import re

SAMPLE = re.compile(r"^(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>.*)\})? (?P<value>\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Metrics:
    """One scrape."""

    def __init__(self, text: str) -> None:
        self.samples: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
        for line in text.splitlines():
            if line and not line.startswith("#"):
                found = SAMPLE.match(line)
                assert found, f"not a sample: {line!r}"
                labels = frozenset(LABEL.findall(found["labels"] or ""))
                self.samples[found["name"], labels] = float(found["value"])

    def value(self, name: str, **labels: str) -> float:
        """One series; it must be there, since every series exists from the start."""
        key = name, frozenset(labels.items())
        assert key in self.samples, f"no series {name} {labels}"
        return self.samples[key]

    def sum(self, name: str, **labels: str) -> float:
        wanted = set(labels.items())
        return sum(value for (found, has), value in self.samples.items() if found == name and wanted <= has)
