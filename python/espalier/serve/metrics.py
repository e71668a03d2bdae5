"""What a server counts, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from .. import _core


class Metrics:
    """Requests by path and status with their latency. Servers add their own metrics to the registry."""

    content_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(self, buckets: Sequence[float]) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "espalier_requests", "Requests by path and status", ["path", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "espalier_request_seconds",
            "From a request's head to its answer's end",
            ["path"],
            buckets=buckets,
            registry=self.registry,
        )
        info = Gauge("espalier_info", "Version", ["version"], registry=self.registry)
        info.labels(_core.build_info()["version"]).set(1)

    def add(self, path: str, status: int, seconds: float) -> None:
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def watch(self, name: str, help: str, value: Callable[[], float]) -> None:
        """A gauge that is read when somebody asks."""
        Gauge(name, help, registry=self.registry).set_function(value)

    def text(self) -> bytes:
        return generate_latest(self.registry)
