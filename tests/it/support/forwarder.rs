//! A UDP forwarder that loses and delays.

use std::{
    collections::{HashMap, hash_map::Entry},
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{net::UdpSocket, task::JoinSet};

/// Loses one packet in this many, about.
const LOSE_ONE_IN: u64 = 12;

/// Delays each packet by up to this, so that they overtake one another.
const DELAY: Duration = Duration::from_millis(8);

/// A forwarder of its own for each test. Dropping it stops it.
pub(crate) struct Forwarder {
    pub(crate) address: SocketAddr,
    _tasks: JoinSet<()>,
}

/// A generator whose runs can be repeated.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

impl Forwarder {
    /// Towards `to`, with 8 % loss and up to 8 ms of reordering each way.
    pub(crate) async fn lossy(to: SocketAddr, seed: u64) -> Self {
        let front = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
        let address = front.local_addr().unwrap();
        let mut tasks = JoinSet::new();
        let random = Arc::new(Mutex::new(Random::new(seed)));
        tasks.spawn(async move {
            let mut backs: HashMap<SocketAddr, Arc<UdpSocket>> = HashMap::new();
            let mut returns = JoinSet::new();
            let mut packet = vec![0; 65_536];
            while let Ok((size, from)) = front.recv_from(&mut packet).await {
                let back = match backs.entry(from) {
                    Entry::Occupied(known) => known.get().clone(),
                    Entry::Vacant(new) => {
                        let back = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
                        back.connect(to).await.unwrap();
                        returns.spawn(carry_back(back.clone(), front.clone(), from, random.clone()));
                        new.insert(back).clone()
                    }
                };
                send_later(&random, packet[..size].to_vec(), move |packet| {
                    let back = back.clone();
                    async move { drop(back.send(&packet).await) }
                });
            }
        });
        Self { address, _tasks: tasks }
    }
}

async fn carry_back(back: Arc<UdpSocket>, front: Arc<UdpSocket>, to: SocketAddr, random: Arc<Mutex<Random>>) {
    let mut packet = vec![0; 65_536];
    loop {
        // A refused port is the other end's business.
        let Ok(size) = back.recv(&mut packet).await else { continue };
        let front = front.clone();
        send_later(&random, packet[..size].to_vec(), move |packet| {
            let front = front.clone();
            async move { drop(front.send_to(&packet, to).await) }
        });
    }
}

fn send_later<F>(random: &Mutex<Random>, packet: Vec<u8>, send: impl FnOnce(Vec<u8>) -> F + Send + 'static)
where
    F: Future<Output = ()> + Send,
{
    let (lose, delay) = {
        let mut random = random.lock().unwrap();
        (random.next().is_multiple_of(LOSE_ONE_IN), DELAY.mul_f64((random.next() % 1000) as f64 / 1000.0))
    };
    if !lose {
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            send(packet).await;
        });
    }
}
