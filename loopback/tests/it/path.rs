//! A path that loses and reorders, a restart, and many busy streams.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use iris_loopback::{
    ClientHello, ServerConfig, connect, connect_default, endpoint_with, nobody_listens, server_config, server_endpoint,
    transport_config,
};
use quinn::{Connection, ConnectionError, Endpoint};
use tokio::net::UdpSocket;
use tokio::task::JoinSet;

use crate::support::{anywhere, client, server, soon};

/// Forwards to `to` and back; loses 8 of 100 datagrams and delays 18 of 100 by 1 to 8 ms.
async fn forwarder(to: SocketAddr) -> SocketAddr {
    let socket = Arc::new(UdpSocket::bind(anywhere()).await.expect("binds"));
    let addr = socket.local_addr().expect("bound");
    tokio::spawn(async move {
        let (mut client, mut buffer) = (None, vec![0; 65_536]);
        let mut dice = 0x9e37_79b9_7f4a_7c15 ^ u64::from(addr.port());
        loop {
            let (length, from) = socket.recv_from(&mut buffer).await.expect("open");
            if from != to {
                client = Some(from);
            }
            let destination = if from == to { client.expect("it spoke first") } else { to };
            // Xorshift: the same path every time for one port, another for the next.
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            let datagram = buffer[..length].to_vec();
            match dice % 100 {
                0..8 => {}
                8..26 => {
                    let (socket, delay) = (Arc::clone(&socket), Duration::from_millis(1 + dice / 100 % 8));
                    tokio::spawn(async move {
                        tokio::time::sleep(delay).await;
                        let _ = socket.send_to(&datagram, destination).await;
                    });
                }
                _ => drop(socket.send_to(&datagram, destination).await),
            }
        }
    });
    addr
}

/// Echoes every bidirectional stream until the connection ends.
async fn echo(connection: Connection) -> ConnectionError {
    let crowd = connection.clone();
    tokio::spawn(async move { while crowd.read_datagram().await.is_ok() {} });
    while let Ok((mut send, mut recv)) = connection.accept_bi().await {
        tokio::spawn(async move {
            while let Ok(Some(chunk)) = recv.read_chunk(usize::MAX, true).await {
                if send.write_chunk(chunk.bytes).await.is_err() {
                    return;
                }
            }
            let _ = send.finish();
        });
    }
    connection.closed().await
}

fn echo_server(server: Endpoint) {
    tokio::spawn(async move {
        while let Some(incoming) = server.accept().await {
            tokio::spawn(async move { echo(incoming.await.expect("accepts")).await });
        }
    });
}

async fn round_trip(connection: &Connection, body: Vec<u8>) {
    let (mut send, mut recv) = connection.open_bi().await.expect("a stream");
    let expected = body.clone();
    let sending = async {
        send.write_all(&body).await.expect("written");
        send.finish().expect("open");
    };
    let (reply, ()) = tokio::join!(recv.read_to_end(1 << 24), sending);
    assert_eq!(reply.expect("whole"), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loss_and_reordering_cost_time_and_nothing_else() {
    // Packet numbers are cut to one or two bytes on the wire and expanded from what came before. What comes late would be
    // expanded wrongly now and then, and the connection die of it, were it not for the tag.
    for _ in 0..3 {
        let (server, addr) = server(&[]);
        echo_server(server);
        let client = client();
        let addr = forwarder(addr).await;
        let connection = soon(connect_default(&client, addr, ClientHello::default()).expect("starts")).await;
        let connection = connection.expect("connects");
        let until = Instant::now() + Duration::from_secs(2);
        let mut work = JoinSet::new();
        for n in 0..16u32 {
            let connection = connection.clone();
            work.spawn(async move {
                while Instant::now() < until {
                    round_trip(&connection, n.to_be_bytes().repeat(500)).await;
                }
            });
        }
        // Small packets by the thousand beside them, so that one that is late is late by more numbers than a byte holds.
        let crowd = connection.clone();
        work.spawn(async move {
            while Instant::now() < until {
                for _ in 0..200 {
                    crowd.send_datagram(vec![0; 20].into()).expect("fits");
                    // Lets it go, so that the next one gets a packet of its own.
                    tokio::task::yield_now().await;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        let all = async { while work.join_next().await.transpose().expect("no panic").is_some() {} };
        tokio::time::timeout(Duration::from_secs(60), all).await.expect("nothing is stuck");
        assert_eq!(connection.close_reason(), None);
        let path = connection.stats().path;
        println!("{} of {} packets lost", path.lost_packets, path.sent_packets);
        assert!(path.lost_packets > 20, "the path does lose");
    }
}

#[tokio::test]
async fn the_kernel_knows_that_nobody_listens() {
    let (server, addr) = server(&[]);
    let accepting = tokio::spawn(async move { server.accept().await.expect("open").await.expect("accepts") });
    assert!(!nobody_listens(addr));
    // The question itself disturbs nobody.
    let connection = soon(connect_default(&client(), addr, ClientHello::default()).expect("starts")).await;
    assert!(connection.is_ok() && soon(accepting).await.is_ok());

    // A port that was ours a moment ago; another process may take it, so any of a few will do.
    let free = || std::net::UdpSocket::bind(anywhere()).and_then(|socket| socket.local_addr()).expect("binds");
    assert!(cfg!(not(target_os = "linux")) || (0..5).any(|_| nobody_listens(free())));
    assert!(!nobody_listens("192.0.2.1:9".parse().expect("an address")));
}

/// Waits until the handshake is confirmed on our side.
async fn handshake_confirmed(connection: &Connection) {
    soon(async {
        while connection.stats().frame_rx.handshake_done == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_restarted_component_is_noticed_with_the_first_packet() {
    let (address, addr) = tokio::sync::oneshot::channel();
    let (kill, killed) = tokio::sync::oneshot::channel::<()>();
    let life = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let (server, addr) = server(&[]);
            address.send(addr).expect("wanted");
            let _connection = server.accept().await.expect("open").await.expect("accepts");
            killed.await.expect("sent");
        });
        // No task of this runtime is polled again, so nobody says goodbye.
        drop(runtime);
    });
    let addr = addr.await.expect("sent");
    let connection = soon(connect_default(&client(), addr, ClientHello::default()).expect("starts")).await;
    let connection = connection.expect("connects");
    handshake_confirmed(&connection).await;
    kill.send(()).expect("wanted");
    soon(life).await.expect("no panic");

    let _second = server_endpoint(addr, ServerConfig::default()).expect("the port is free again");
    let began = Instant::now();
    let mut send = connection.open_uni().await.expect("a stream");
    send.write_all(&[0; 100]).await.expect("buffered");
    match soon(connection.closed()).await {
        ConnectionError::Reset => {}
        other => panic!("{other:?}"),
    }
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

/// 256 busy streams on 16 connections at the kernel's default socket buffers, and a quiet neighbour.
async fn busy(seconds: u64) -> (f64, Vec<Duration>) {
    let transport = Arc::new(transport_config());
    let (server, buffers) =
        endpoint_with(anywhere(), Some(server_config(ServerConfig::default())), false, 0).expect("binds");
    assert_eq!(buffers.requested, 0);
    let addr = server.local_addr().expect("bound");
    let (sinks, mut accepted) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(incoming) = server.accept().await {
            let connection = incoming.await.expect("accepts");
            sinks.send(connection.clone()).expect("wanted");
            tokio::spawn(echo(connection.clone()));
            tokio::spawn(async move {
                while let Ok(mut recv) = connection.accept_uni().await {
                    tokio::spawn(async move { while let Ok(Some(_)) = recv.read_chunk(usize::MAX, true).await {} });
                }
            });
        }
    });
    let (client, _) = endpoint_with(anywhere(), None, false, 0).expect("binds");
    let dial = || async {
        let connecting = connect(&client, addr, ClientHello::default(), Arc::clone(&transport)).expect("starts");
        connecting.await.expect("connects")
    };
    let neighbour = dial().await;
    let until = Instant::now() + Duration::from_secs(seconds);
    let (mut streams, mut connections) = (JoinSet::new(), Vec::new());
    for _ in 0..16 {
        let connection = dial().await;
        for _ in 0..16 {
            let mut send = connection.open_uni().await.expect("a stream");
            streams.spawn(async move {
                let chunk = bytes::Bytes::from(vec![7; 64 * 1024]);
                while Instant::now() < until {
                    send.write_chunk(chunk.clone()).await.expect("written");
                }
                send.finish().expect("open");
                assert_eq!(send.stopped().await.expect("acknowledged"), None);
            });
        }
        connections.push(connection);
    }
    let mut echoes = Vec::new();
    while Instant::now() < until {
        let began = Instant::now();
        round_trip(&neighbour, vec![1; 200]).await;
        echoes.push(began.elapsed());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let all = async { while streams.join_next().await.transpose().expect("no panic").is_some() {} };
    tokio::time::timeout(Duration::from_secs(60), all).await.expect("nothing is stuck");
    while let Ok(connection) = accepted.try_recv() {
        connections.push(connection);
    }
    let paths = connections.iter().map(|connection| connection.stats().path);
    let (lost, sent) = paths.fold((0, 0), |(lost, sent), path| (lost + path.lost_packets, sent + path.sent_packets));
    echoes.sort_unstable();
    (lost as f64 / sent as f64, echoes)
}

/// Runs a measurement on the workers. The test's own thread would have to wait for a processor between them.
async fn on_the_runtime<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    tokio::spawn(work).await.expect("no panic")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_busy_streams_lose_little_and_none_is_stuck() {
    let (lost, echoes) = on_the_runtime(busy(2)).await;
    let percentile = |percent: usize| echoes[(echoes.len() - 1) * percent / 100];
    println!("lost {:.2} %, echo p50 {:?}, p99 {:?}", lost * 100.0, percentile(50), percentile(99));
    // Unoptimised, on a machine that runs all other tests as well, the receiver is away for longer than any buffer holds. The
    // figures themselves: cargo test --release -p iris-loopback many_busy -- --nocapture
    assert!(lost < if cfg!(debug_assertions) { 0.10 } else { 0.02 }, "{lost}");
    assert!(cfg!(debug_assertions) || percentile(99) < Duration::from_millis(20), "{:?}", percentile(99));
}
