"""`proxy_protocol: v2`: what readers that are not ours make of the header in front of each connection."""

from __future__ import annotations

import asyncio
import shutil
import socket
import tempfile
import time
from pathlib import Path

import pytest
from proxyprotocol.reader import ProxyProtocolReader
from proxyprotocol.v2 import ProxyProtocolV2

from iris_e2e.processes import Program, join
from iris_e2e.registration import METADATA, SERVER_NAME, s_client, worker

HAPROXY = """
global
    maxconn 100
defaults
    mode http
    timeout connect 10s
    timeout client 1m
    timeout server 1m
frontend in
    bind unix@{path} accept-proxy proto h2
    http-response set-header x-source "%[src]:%[src_port]"
    http-response set-header x-server-name "%[fc_pp_authority]"
    http-response set-header x-destination "%[dst]:%[dst_port]"
    default_backend registry
backend registry
    server registry {address} proto h2
"""


def config(upstream: str) -> dict:
    tls = {"identities": ["edge"], "alpn": ["h2"], "client_auth": {"trust": "workers", "mode": "optional"}}
    return {
        "listeners": [{"name": "in", "listen": "tls://127.0.0.1:0", "tls": tls, "routes": [{"upstream": "told"}]}],
        "upstreams": [{"name": "told", "dial": upstream, "proxy_protocol": "v2"}],
    }


def test_haproxy_learns_where_a_worker_comes_from(lab, registration, stubs, name):
    """gRPC through Iris and haproxy, which reads the header in front of HTTP/2 and says what it read."""
    # Unix paths are short.
    with tempfile.TemporaryDirectory() as folder:
        path, file = Path(folder) / "haproxy.sock", Path(folder) / "haproxy.cfg"
        file.write_text(HAPROXY.format(path=path, address=join(registration.registry.address)))
        haproxy = Program(f"{name}-haproxy", [shutil.which("haproxy") or "/usr/sbin/haproxy", "-db", "-f", str(file)],
                          lab.folder, lines_on="stderr")
        lab.running.append(haproxy)
        until_it_listens(haproxy, path)
        iris = lab.start_iris(name, config(f"unix:{path}"))
        channel, stub = worker(iris.address("in"), stubs, ca=lab.pki.authority.bundle)
        with channel:
            answer, call = stub.ListModels.with_call(stubs.messages.ListModelsRequest(), metadata=METADATA, timeout=20)
            assert list(answer.models) == ["a-model", "another"]
            told = dict(call.initial_metadata())
            host, _, port = told["x-source"].rpartition(":")
            assert host == "127.0.0.1" and int(port) > 0
            assert told["x-destination"] == join(iris.address("in"))
            assert told["x-server-name"] == SERVER_NAME


@pytest.mark.parametrize("shown", [True, False], ids=["certificate", "no certificate"])
async def test_every_field_is_read_by_a_parser_that_is_not_ours(lab, name, shown):
    told: asyncio.Future = asyncio.get_running_loop().create_future()

    async def component(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        told.set_result(await ProxyProtocolReader(ProxyProtocolV2()).read(reader))
        writer.close()

    server = await asyncio.start_server(component, "127.0.0.1", 0)
    async with server:
        iris = lab.start_iris(name, config(f"tcp://{join(server.sockets[0].getsockname())}"))
        identity = ["-cert", str(lab.pki.worker.certificate), "-key", str(lab.pki.worker.key)] if shown else []
        to = iris.address("in")
        await asyncio.to_thread(s_client, to, "-alpn", "h2", *identity, ca=lab.pki.authority.bundle)
        result = await asyncio.wait_for(told, 20)
    assert result.proxied and str(result.source[0]) == "127.0.0.1" and result.source[1] > 0
    assert (str(result.dest[0]), result.dest[1]) == to
    tlv = result.tlv
    assert (tlv.alpn, tlv.authority) == (b"h2", SERVER_NAME)
    assert tlv.ssl.version == "TLSv1.3" and tlv.ssl.cipher.startswith("TLS_")
    assert tlv.ssl.cn == ("worker" if shown else None)
    assert tlv.ssl.has_ssl and tlv.ssl.has_cert_conn == shown
    # 0: shown, and verified.
    assert (tlv.ssl.verify == 0) == shown


def until_it_listens(program: Program, path: Path) -> None:
    deadline = time.monotonic() + 20
    while True:
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(path))
                return
            except OSError:
                assert time.monotonic() < deadline and program.process.poll() is None, program.lines
        time.sleep(0.05)
