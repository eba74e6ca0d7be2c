//! Asking the kernel whether anybody listens.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Whether it is certain that nobody listens at a loopback port.
///
/// QUIC itself cannot tell: a component that is dead says nothing, and a connect, or a connection, ends with its timer after
/// 30 s. The kernel can, for a port of this host: one byte, which is no QUIC packet and which every endpoint drops, comes
/// back as an ICMP error. It costs four system calls and does not block. `false` means that somebody listens, that the
/// answer did not come at once, or that the address is not a loopback address.
#[must_use]
pub fn nobody_listens(at: SocketAddr) -> bool {
    at.ip().is_loopback() && ask(at).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

fn ask(at: SocketAddr) -> io::Result<()> {
    let from: IpAddr = if at.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
    let socket = UdpSocket::bind((from, 0))?;
    socket.set_nonblocking(true)?;
    // Only a connected socket is told of errors.
    socket.connect(at)?;
    socket.send(&[0])?;
    socket.recv(&mut [0]).map(drop)
}
