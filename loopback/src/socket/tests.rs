//! The guard, around a socket that says what it is told to.

use std::net::IpAddr;
use std::sync::Mutex;

use quinn::udp::EcnCodepoint;

use super::*;

/// Receives one packet from each of these sources, and remembers where packets were sent.
#[derive(Debug)]
struct Fake {
    sources: Vec<SocketAddr>,
    sent: Mutex<Vec<SocketAddr>>,
}

impl AsyncUdpSocket for Fake {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        unreachable!("not polled for writing")
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.sent.lock().expect("not poisoned").push(transmit.destination);
        Ok(())
    }

    fn poll_recv(
        &self,
        _cx: &mut Context<'_>,
        _bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        for (arrived, source) in meta.iter_mut().zip(&self.sources) {
            *arrived = RecvMeta::default();
            (arrived.addr, arrived.len, arrived.stride) = (*source, 1200, 1200);
        }
        Poll::Ready(Ok(self.sources.len()))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(SocketAddr::from(([127, 0, 0, 1], 1)))
    }
}

fn addresses() -> Vec<SocketAddr> {
    let parse = |address: &str| address.parse().expect("an address");
    ["127.0.0.1:7", "10.0.0.7:7", "127.9.9.9:7", "[::1]:7", "[fe80::1]:7", "[::ffff:10.0.0.7]:7"].map(parse).to_vec()
}

#[test]
fn packets_from_elsewhere_are_emptied() {
    let guard = LoopbackOnly { inner: Arc::new(Fake { sources: addresses(), sent: Mutex::default() }) };
    let mut metas = [RecvMeta::default(); 6];
    let mut cx = Context::from_waker(std::task::Waker::noop());
    let Poll::Ready(Ok(6)) = guard.poll_recv(&mut cx, &mut [], &mut metas) else { panic!("six packets are there") };
    assert_eq!(metas.map(|arrived| arrived.len), [1200, 0, 1200, 1200, 0, 0]);
}

#[test]
fn packets_to_elsewhere_are_not_sent() {
    let fake = Arc::new(Fake { sources: Vec::new(), sent: Mutex::default() });
    let guard = LoopbackOnly { inner: Arc::clone(&fake) as Arc<dyn AsyncUdpSocket> };
    for destination in addresses() {
        let ecn = Some(EcnCodepoint::Ect0);
        let transmit = Transmit { destination, ecn, contents: b"x", segment_size: None, src_ip: None };
        guard.try_send(&transmit).expect("dropped at worst");
    }
    let sent = fake.sent.lock().expect("not poisoned").iter().map(SocketAddr::ip).collect::<Vec<_>>();
    assert!(sent.iter().all(IpAddr::is_loopback), "{sent:?}");
    assert_eq!(sent.len(), 3);
}

#[test]
fn the_kernels_default_stands_when_nothing_is_asked_for() {
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let (_, default) = bind(anywhere, false, 0).expect("binds");
    assert!(!default.clamped() && default.receive > 0);
    let (_, small) = bind(anywhere, false, 64 * 1024).expect("binds");
    assert_eq!((small.receive, small.clamped()), (64 * 1024, false));
    // More than any kernel gives by itself.
    let (_, huge) = bind(anywhere, false, 1 << 30).expect("binds");
    assert!(huge.clamped());
    assert!(huge.to_string().contains("1073741824 requested"), "{huge}");
}
