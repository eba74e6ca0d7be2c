"""Real processes: Iris and the guests beside it. Each writes JSON lines; what it wrote can be waited for."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from .metrics import Metrics

ROOT = Path(__file__).resolve().parents[2]
IRIS = ROOT / "target" / "release" / "iris"
EXAMPLES = ROOT / "target" / "debug" / "examples"


class Program:
    """A process whose standard output or error is JSON lines, kept in memory and in a file."""

    def __init__(self, name: str, command: list[str], folder: Path, *, lines_on: str) -> None:
        self.name = name
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / f"{name}.jsonl"
        self.lines: list[dict] = []
        self._changed = threading.Condition()
        other = (folder / f"{name}.other").open("wb")
        pipes = {"stdout": other, "stderr": other, lines_on: subprocess.PIPE}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, cwd=folder, **pipes)
        other.close()
        self._reader = threading.Thread(target=self._read, args=(getattr(self.process, lines_on),), daemon=True)
        self._reader.start()

    def _read(self, pipe) -> None:  # type: ignore[no-untyped-def]
        with self.log.open("wb") as copy:
            for raw in pipe:
                copy.write(raw)
                copy.flush()
                try:
                    line = json.loads(raw)
                except ValueError:
                    line = {"message": raw.decode(errors="replace").rstrip()}
                with self._changed:
                    self.lines.append(line)
                    self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def wait_for(self, what: str, fits: Callable[[dict], bool], *, since: int = 0, timeout: float = 20) -> dict:
        """The first line that fits, from the `since`th on. Fails early when the process ends."""
        deadline = time.monotonic() + timeout
        at = since
        with self._changed:
            while True:
                while at < len(self.lines):
                    if fits(self.lines[at]):
                        return self.lines[at]
                    at += 1
                ended = not self._reader.is_alive()
                if ended or time.monotonic() > deadline:
                    why = f"ended with {self.process.wait(5)}" if ended else f"said nothing of it in {timeout} s"
                    raise AssertionError(f"{self.name}: {what}: it {why}; its last lines: {self.lines[-12:]}")
                self._changed.wait(0.2)

    def event(self, name: str, *, since: int = 0, timeout: float = 20, **fields: object) -> dict:
        """The first event of a guest with this name and these fields."""
        return self.wait_for(
            f"event {name} {fields}",
            lambda line: line.get("event") == name and all(line.get(key) == value for key, value in fields.items()),
            since=since, timeout=timeout)

    def message(self, text: str, *, since: int = 0, timeout: float = 20, **fields: object) -> dict:
        """The first log line of an Iris with this message and these fields."""
        return self.wait_for(
            f"message {text!r} {fields}",
            lambda line: line.get("message") == text and all(line.get(key) == value for key, value in fields.items()),
            since=since, timeout=timeout)

    @property
    def mark(self) -> int:
        """Where later lines begin."""
        with self._changed:
            return len(self.lines)

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def stop(self) -> int:
        """Asks it to stop, and insists after a while. Its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)
        self._reader.join(5)
        if self.process.stdin is not None:
            self.process.stdin.close()
        return self.process.returncode


class Component(Program):
    """A guest that listens on loopback QUIC."""

    def __init__(self, name: str, folder: Path, *, alpn: list[str] = [], alpn_optional: bool = True) -> None:
        command = [str(EXAMPLES / "guest"), "listen", "--address", "127.0.0.1:0"]
        command += [argument for protocol in alpn for argument in ("--alpn", protocol)]
        command += ["--alpn-optional"] if alpn_optional else []
        super().__init__(name, command, folder, lines_on="stdout")
        self.address = split(self.event("listening")["address"])


class Caller(Program):
    """A guest that makes one connection."""

    def __init__(self, name: str, folder: Path, address: tuple[str, int], *, server_name: str | None = None,
                 alpn: list[str] = [], destination: str | None = None) -> None:
        command = [str(EXAMPLES / "guest"), "call", "--address", join(address)]
        command += ["--server-name", server_name] if server_name else []
        command += [argument for protocol in alpn for argument in ("--alpn", protocol)]
        command += ["--destination", destination] if destination else []
        super().__init__(name, command, folder, lines_on="stdout")


class Iris(Program):
    """The program under test, with its operator's HTTP."""

    def __init__(self, name: str, folder: Path, configuration: dict) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        configuration = {
            "admin": {"listen": "http://127.0.0.1:0"},
            "log": {"format": "json", "level": "info"},
            **configuration,
        }
        file = folder / f"{name}.yaml"
        # JSON is YAML too.
        file.write_text(json.dumps(configuration, indent=2))
        super().__init__(name, [str(IRIS), "run", "--config", str(file)], folder, lines_on="stderr")
        self.admin = self._admin_address()
        self._wait_until_answering()

    def address(self, listener: str) -> tuple[str, int]:
        """Where a listener with port 0 is."""
        row = next(row for row in self.status()["listeners"] if row["name"] == listener)
        return split(row["bound"])

    def status(self) -> dict:
        return json.loads(self.get("/status"))

    def metrics(self) -> Metrics:
        return Metrics(self.get("/metrics"))

    def ready(self) -> tuple[bool, str]:
        try:
            return True, self.get("/readyz")
        except urllib.error.HTTPError as error:
            return False, error.read().decode()

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://{join(self.admin)}{path}", timeout=10) as answer:
            return answer.read().decode()

    def failures(self, component: str, reason: str) -> float:
        return self.metrics().value("iris_handshake_failures_total", component=component, reason=reason)

    def panics(self) -> list[dict]:
        return [line for line in self.lines if line.get("message") == "panic" or "panicked at" in str(line)]

    def _admin_address(self) -> tuple[str, int]:
        line = self.wait_for("the admin's address", lambda line: line.get("message") == "listening"
                             and line.get("component") == "admin.listen")
        return split(str(line["address"]).removeprefix("http://").rstrip("/"))

    def _wait_until_answering(self) -> None:
        deadline = time.monotonic() + 20
        while True:
            try:
                self.get("/livez")
                return
            except OSError:
                assert time.monotonic() < deadline and self.process.poll() is None, f"{self.name} does not answer"
                time.sleep(0.05)


def split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def join(address: tuple[str, int]) -> str:
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


SIGTERM = signal.SIGTERM
