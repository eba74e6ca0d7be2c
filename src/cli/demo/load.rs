//! Callers that never rest: each connects, asks once, and leaves. What an operator fears of a rotation would show here.

use std::{
    collections::HashSet,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use iris_loopback::HandshakeData;
use quinn::{Connection, Endpoint};
use tokio::{task::JoinSet, time::timeout};

use super::{
    Failure,
    stage::{COMPONENT, PATIENCE, call},
};

/// At a time.
const CALLERS: usize = 4;

/// What happened so far.
#[derive(Debug, Default)]
pub(super) struct Counts {
    answered: AtomicU64,
    failed: AtomicU64,
    stop: AtomicBool,
    first_failure: Mutex<Option<String>>,
    /// SHA-256 of every caller's certificate that the component was told of.
    certificates: Mutex<HashSet<[u8; 32]>>,
}

impl Counts {
    pub(super) fn answered(&self) -> u64 {
        self.answered.load(Relaxed)
    }

    pub(super) fn failed(&self) -> u64 {
        self.failed.load(Relaxed)
    }

    /// What the first failure was.
    pub(super) fn first_failure(&self) -> Option<String> {
        self.first_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many different certificates the component has been shown.
    pub(super) fn certificates(&self) -> usize {
        self.certificates.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// Callers at work, until it is dropped.
pub(super) struct Load {
    pub(super) counts: Arc<Counts>,
    _tasks: JoinSet<()>,
}

impl Load {
    pub(super) fn start(component: &Endpoint, caller: &Endpoint, egress: SocketAddr) -> Self {
        let (counts, mut tasks) = (Arc::new(Counts::default()), JoinSet::new());
        tasks.spawn(answer_all(component.clone(), counts.clone()));
        for _ in 0..CALLERS {
            let (caller, counts) = (caller.clone(), counts.clone());
            tasks.spawn(async move {
                while !counts.stop.load(Relaxed) {
                    match timeout(PATIENCE, ask(&caller, egress)).await {
                        Ok(Ok(())) => drop(counts.answered.fetch_add(1, Relaxed)),
                        Ok(Err(error)) => counts.fail(&error.to_string()),
                        Err(_) => counts.fail("no answer in time"),
                    }
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            });
        }
        Self { counts, _tasks: tasks }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.counts.stop.store(true, Relaxed);
    }
}

impl Counts {
    fn fail(&self, why: &str) {
        self.failed.fetch_add(1, Relaxed);
        self.first_failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| why.to_owned());
    }
}

async fn ask(caller: &Endpoint, egress: SocketAddr) -> Result<(), Failure> {
    let connection = call(caller, egress, COMPONENT).await?;
    let (mut send, mut recv) = connection.open_bi().await?;
    send.write_all(b"question").await?;
    send.finish()?;
    let answer = recv.read_to_end(64).await?;
    connection.close(0_u32.into(), b"");
    if answer == b"answer" { Ok(()) } else { Err("a wrong answer".into()) }
}

async fn answer_all(component: Endpoint, counts: Arc<Counts>) {
    let mut connections = JoinSet::new();
    while let Some(incoming) = component.accept().await {
        let counts = counts.clone();
        connections.spawn(async move {
            if let Ok(connection) = incoming.await {
                counts.note(&connection);
                // Until the caller has left.
                let _ = answer(&connection).await;
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

impl Counts {
    fn note(&self, connection: &Connection) {
        let data = connection.handshake_data().and_then(|data| data.downcast::<HandshakeData>().ok());
        if let Some(certificate) = data.and_then(|data| data.peer).and_then(|peer| peer.certificate) {
            self.certificates.lock().unwrap_or_else(PoisonError::into_inner).insert(certificate.sha256);
        }
    }
}

async fn answer(connection: &Connection) -> Result<(), Failure> {
    loop {
        let (mut send, mut recv) = connection.accept_bi().await?;
        recv.read_to_end(64).await?;
        send.write_all(b"answer").await?;
        send.finish()?;
    }
}
