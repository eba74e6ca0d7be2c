//! What passes: requests both ways, stream identifiers, resets, stops, datagrams.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use quinn::{Connection, ReadError, RecvStream, SendStream, VarInt};
use tokio::time::timeout;

use super::{
    Failure,
    narrator::{Figure, Narrator},
    stage::{PATIENCE, Stage},
};

const REQUESTS: usize = 500;
const DATAGRAMS: usize = 50;

type Outcome = Result<Vec<Figure>, String>;

/// Requests that the caller opens, and requests that the component opens.
pub(super) async fn requests(stage: &Stage, narrator: &mut Narrator<impl Write>) -> Result<(), Failure> {
    narrator.chapter("Requests, each on a stream of its own")?;
    let outcome = within(exchange(&stage.near, &stage.far)).await;
    narrator.expect("the caller asks and the component answers", outcome)?;
    let outcome = within(exchange(&stage.far, &stage.near)).await;
    narrator.expect("the component opens streams towards the caller, as a reverse tunnel does", outcome)?;
    Ok(())
}

/// Everything else that a QUIC connection has.
pub(super) async fn whatever_quic_carries(stage: &Stage, narrator: &mut Narrator<impl Write>) -> Result<(), Failure> {
    narrator.chapter("Whatever else QUIC carries")?;
    let outcome = within(reset(&stage.near, &stage.far)).await;
    narrator.expect("a cancelled request reaches the component with its code", outcome)?;
    let outcome = within(stop(&stage.near, &stage.far)).await;
    narrator.expect("a component that wants no more reaches the caller with its code", outcome)?;
    let outcome = within(datagrams(&stage.near, &stage.far)).await;
    narrator.expect("datagrams, which are not sent again when one is lost", outcome)?;
    Ok(())
}

/// The outcome, or that it did not come.
async fn within(story: impl Future<Output = Result<Vec<Figure>, Failure>>) -> Outcome {
    match timeout(PATIENCE, story).await {
        Ok(outcome) => outcome.map_err(|error| error.to_string()),
        Err(_) => Err(format!("nothing within {PATIENCE:?}")),
    }
}

async fn exchange(asking: &Connection, answering: &Connection) -> Result<Vec<Figure>, Failure> {
    let mut times = Vec::with_capacity(REQUESTS);
    for _ in 0..REQUESTS {
        let start = Instant::now();
        let (mut send, mut recv) = asking.open_bi().await?;
        send.write_all(b"{\"prompt\":\"hello\"}").await?;
        send.finish()?;
        let (far_send, far_recv) = answering.accept_bi().await?;
        if far_send.id() != send.id() {
            return Err(format!("stream {} arrives as {}", send.id(), far_send.id()).into());
        }
        answer(far_send, far_recv).await?;
        recv.read_to_end(1024).await?;
        times.push(start.elapsed());
    }
    times.sort();
    Ok(vec![
        Figure::count("requests", REQUESTS as u64),
        Figure::time("p50", percentile(&times, 50)),
        Figure::time("p99", percentile(&times, 99)),
    ])
}

async fn answer(mut send: SendStream, mut recv: RecvStream) -> Result<(), Failure> {
    recv.read_to_end(1024).await?;
    send.write_all(b"{\"answer\":\"hello to you\"}").await?;
    send.finish()?;
    Ok(())
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

/// A stream with a little data on its way, at both ends.
async fn begun(near: &Connection, far: &Connection) -> Result<(SendStream, RecvStream), Failure> {
    let mut send = near.open_uni().await?;
    send.write_all(b"begun").await?;
    let mut recv = far.accept_uni().await?;
    recv.read_exact(&mut [0; 5]).await?;
    Ok((send, recv))
}

async fn reset(near: &Connection, far: &Connection) -> Result<Vec<Figure>, Failure> {
    let (mut send, mut recv) = begun(near, far).await?;
    let start = Instant::now();
    send.reset(CODE)?;
    match recv.read(&mut [0]).await {
        Err(ReadError::Reset(CODE)) => Ok(vec![Figure::time("after", start.elapsed())]),
        other => Err(format!("not reset with {CODE} but: {other:?}").into()),
    }
}

async fn stop(near: &Connection, far: &Connection) -> Result<Vec<Figure>, Failure> {
    let (send, mut recv) = begun(near, far).await?;
    let start = Instant::now();
    recv.stop(CODE)?;
    match send.stopped().await? {
        Some(CODE) => Ok(vec![Figure::time("after", start.elapsed())]),
        other => Err(format!("not stopped with {CODE} but: {other:?}").into()),
    }
}

const CODE: VarInt = VarInt::from_u32(499);

async fn datagrams(near: &Connection, far: &Connection) -> Result<Vec<Figure>, Failure> {
    let mut arrived = 0;
    for number in 0..DATAGRAMS {
        near.send_datagram(vec![number.to_le_bytes()[0]; 200].into())?;
        if timeout(Duration::from_millis(200), far.read_datagram()).await.is_ok_and(|read| read.is_ok()) {
            arrived += 1;
        }
    }
    let size = near.max_datagram_size().unwrap_or(0);
    if arrived == 0 {
        return Err(format!("none of {DATAGRAMS} arrived").into());
    }
    Ok(vec![
        Figure::count("sent", DATAGRAMS as u64),
        Figure::count("arrived", arrived),
        Figure { name: "largest", value: f64::from(u32::try_from(size).unwrap_or(u32::MAX)), unit: "bytes" },
    ])
}
