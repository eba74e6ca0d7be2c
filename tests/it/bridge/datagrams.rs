//! Datagrams (RFC 9221).

use std::time::Duration;

use crate::support::{
    tunnel::{Tunnel, WAYS, Way},
    wait::{until, within},
};

#[tokio::test]
async fn datagrams_pass_each_way() {
    for way in WAYS {
        let tunnel = Tunnel::plain(way).await;
        for (from, to) in [(&tunnel.near, &tunnel.far), (&tunnel.far, &tunnel.near)] {
            within("a datagram", async {
                // Unreliable: sent until one arrives.
                let sending = async {
                    loop {
                        from.send_datagram(b"datagram".as_slice().into()).unwrap();
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                };
                tokio::select! {
                    () = sending => {}
                    received = to.read_datagram() => assert_eq!(received.unwrap(), b"datagram".as_slice()),
                }
            })
            .await;
        }
    }
}

/// What a component is told fits the secured path, so what it sends is not lost for its size.
#[tokio::test]
async fn a_component_is_told_the_size_of_the_secured_path() {
    for way in WAYS {
        let tunnel = Tunnel::plain(way).await;
        let component = match way {
            Way::Ingress => &tunnel.far,
            Way::Egress => &tunnel.near,
        };
        let size = component.max_datagram_size().unwrap();
        assert!((1000..1500).contains(&size), "{way:?}: {size}");
    }
}

/// Too large a datagram is dropped and counted; the connection lives.
#[tokio::test]
async fn what_does_not_fit_is_dropped_and_counted() {
    let tunnel = Tunnel::open(
        Way::Ingress,
        crate::support::tunnel::TunnelSpec {
            // The component takes none.
            component: {
                let mut transport = iris_loopback::transport_config();
                transport.datagram_receive_buffer_size(None);
                transport
            },
            ..Default::default()
        },
    )
    .await;
    tunnel.near.send_datagram(vec![0; 500].into()).unwrap();
    let series = "iris_datagrams_dropped_total{component=\"component\"}";
    until("the drop to be counted", || tunnel.iris.metric(series) >= 1.0).await;
    let mut send = tunnel.near.open_uni().await.unwrap();
    send.write_all(b"alive").await.unwrap();
    send.finish().unwrap();
    let mut recv = within("a stream", tunnel.far.accept_uni()).await.unwrap();
    assert_eq!(recv.read_to_end(10).await.unwrap(), b"alive");
}
