//! Binding.

use std::{
    io,
    net::{SocketAddr, UdpSocket},
};

use socket2::{Domain, Protocol, Socket, Type};

/// A UDP socket bound to `address`, with buffers of `buffer` bytes as far as the kernel allows. An IPv6 wildcard takes
/// IPv4 as well.
///
/// # Errors
///
/// The address is taken, not ours, or not permitted.
pub fn bind_udp(address: SocketAddr, buffer: usize) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.bind(&address.into())?;
    // A refusal to grow is no error: the clamp below is what matters.
    let _ = socket.set_recv_buffer_size(buffer);
    let _ = socket.set_send_buffer_size(buffer);
    // Linux reports twice what it grants, for its own bookkeeping.
    let granted = socket.recv_buffer_size()? / 2;
    if granted < buffer {
        tracing::warn!(
            %address, asked = buffer, granted,
            "the kernel clamps the socket's receive buffer; raise net.core.rmem_max (and wmem_max) or lower transport.socket_buffer"
        );
    }
    Ok(socket.into())
}
