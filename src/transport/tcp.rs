//! TCP sockets: binding, connecting, and the options of those that are connected.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    time::Duration,
};

use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpSocket, TcpStream};

/// Connections that the kernel may hold until they are accepted; it clamps this to net.core.somaxconn.
const BACKLOG: i32 = 1024;

/// Probes of a quiet connection that may go unanswered in a row.
const PROBES: u32 = 3;

/// A TCP socket that listens at `address`. An IPv6 wildcard takes IPv4 as well.
///
/// # Errors
///
/// The address is taken, not ours, or not permitted.
pub fn bind_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    // What a process before this one has left in TIME_WAIT must not keep this one from its port.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Connects to `address`. Whoever gives up on the way leaves a RST behind, not an end: the far side may have taken the
/// connection already, and must not see something whole in it.
///
/// # Errors
///
/// Nobody listens there, or the network says no.
pub async fn connect_tcp(address: SocketAddr, keep_alive: Duration) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    SockRef::from(&socket).set_linger(Some(Duration::ZERO))?;
    let stream = socket.connect(address).await?;
    SockRef::from(&stream).set_linger(None)?;
    prepare(&stream, keep_alive)?;
    Ok(stream)
}

/// Small writes go out at once, and a quiet connection is probed after `keep_alive`, so that a peer that vanished is
/// noticed: after `keep_alive` and three probes, a third of it apart (RFC 9293 section 3.8.4).
///
/// TCP_USER_TIMEOUT stays off: Linux applies it to a window that stays shut, and would end the connection of a reader
/// that is only slow.
///
/// # Errors
///
/// The socket is gone.
pub fn prepare(stream: &TcpStream, keep_alive: Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let interval = (keep_alive / PROBES).max(Duration::from_secs(1));
    let probing = TcpKeepalive::new().with_time(keep_alive).with_interval(interval).with_retries(PROBES);
    SockRef::from(stream).set_tcp_keepalive(&probing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        future::{Future, poll_fn},
        io::{ErrorKind, Read},
        task::Poll,
    };

    #[tokio::test]
    async fn a_connect_that_is_given_up_is_no_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut connecting = Box::pin(connect_tcp(listener.local_addr().unwrap(), Duration::from_secs(30)));
        let begun = poll_fn(|cx| Poll::Ready(connecting.as_mut().poll(cx))).await;
        assert!(begun.is_pending());
        // The far side has it before this one knows.
        let mut taken = listener.accept().unwrap().0;
        drop(connecting);
        assert_eq!(taken.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    }

    #[tokio::test]
    async fn a_connection_that_is_made_ends_cleanly() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let connected = connect_tcp(listener.local_addr().unwrap(), Duration::from_secs(30)).await.unwrap();
        drop(connected);
        assert_eq!(listener.accept().unwrap().0.read(&mut [0]).unwrap(), 0);
    }
}
