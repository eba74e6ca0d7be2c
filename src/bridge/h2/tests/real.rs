//! A client and a server that are not ours, with calls back to back while the drain begins: each call completes, or the
//! client is told that it was never processed. None is lost.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use h2::{RecvStream, client, server};
use http::{Request, Response};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt, DuplexStream, duplex, split},
    sync::Notify,
    task::JoinSet,
    time::timeout,
};

use super::super::{Phase, Watcher};

const CALLERS: u32 = 8;
const ROUNDS: usize = 12;

#[tokio::test]
async fn no_call_is_lost_to_a_drain() {
    for round in 0..ROUNDS {
        timeout(Duration::from_secs(30), drain_under_load(round)).await.expect("the drain ends");
    }
}

/// Numbers of calls.
type Calls = Arc<Mutex<BTreeSet<u32>>>;

async fn drain_under_load(round: usize) {
    // Room for all that is ever under way: the relay of this test does one thing after the other.
    let (client_end, relay_client) = duplex(1 << 20);
    let (server_end, relay_server) = duplex(1 << 20);
    let (served, completed, drain) = (Calls::default(), Calls::default(), Arc::new(Notify::new()));
    let mut tasks = JoinSet::new();
    tasks.spawn(serve(server_end, served.clone()));
    tasks.spawn(relay(relay_client, relay_server, drain.clone(), 1 + round * 7));
    let (sender, connection) = client::handshake(client_end).await.unwrap();
    tasks.spawn(async move { connection.await.expect("a drain is no error of the connection") });
    for caller in 0..CALLERS {
        let (sender, completed, drain) = (sender.clone(), completed.clone(), drain.clone());
        tasks.spawn(async move {
            for call in 0.. {
                let number = call * CALLERS + caller;
                match one_call(sender.clone(), number).await {
                    Ok(()) => completed.lock().unwrap().insert(number),
                    Err(error) => return assert!(is_retryable(&error), "call {number}: {error:?}"),
                };
                if call == 3 + u32::try_from(round).unwrap() {
                    drain.notify_one();
                }
            }
        });
    }
    drop(sender);
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    let (served, completed) = (served.lock().unwrap(), completed.lock().unwrap());
    assert_eq!(*served, *completed, "what was served was not told");
    assert!(completed.len() > CALLERS as usize);
}

/// Whether a client may make the call again elsewhere: the far end says that it was not processed.
fn is_retryable(error: &h2::Error) -> bool {
    error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR)
        || error.reason() == Some(h2::Reason::REFUSED_STREAM)
}

/// A call with a body each way and trailers.
async fn one_call(sender: client::SendRequest<Bytes>, number: u32) -> Result<(), h2::Error> {
    let mut sender = sender.ready().await?;
    let request = Request::post("http://component/call").header("x-long", "x".repeat(200)).body(()).unwrap();
    let (response, mut body) = sender.send_request(request, false)?;
    body.send_data(Bytes::copy_from_slice(&number.to_be_bytes()), true)?;
    let echoed = read(response.await?.into_body()).await?;
    assert_eq!(echoed, [number.to_be_bytes(); 100].concat(), "a call without a whole answer");
    Ok(())
}

async fn read(mut body: RecvStream) -> Result<Vec<u8>, h2::Error> {
    let mut all = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        body.flow_control().release_capacity(piece.len())?;
        all.extend(piece);
    }
    assert!(body.is_end_stream() || body.trailers().await?.is_some());
    Ok(all)
}

async fn serve(end: DuplexStream, served: Calls) {
    let mut connection = server::handshake(end).await.unwrap();
    let mut handlers = JoinSet::new();
    // Ends when the relay closes.
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let served = served.clone();
        handlers.spawn(async move {
            let number = read(request.into_body()).await.unwrap();
            tokio::task::yield_now().await;
            let mut body = respond.send_response(Response::new(()), false).unwrap();
            body.send_data(number.repeat(100).into(), false).unwrap();
            body.send_trailers([("x-status".parse().unwrap(), "0".parse().unwrap())].into_iter().collect()).unwrap();
            served.lock().unwrap().insert(u32::from_be_bytes(number.try_into().unwrap()));
        });
    }
    while handlers.join_next().await.is_some() {}
}

/// Relays in pieces of at most `most` octets, until the drain is done.
async fn relay(client: DuplexStream, server: DuplexStream, drain: Arc<Notify>, most: usize) {
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) = (split(client), split(server));
    let mut watcher = Watcher::new();
    while watcher.phase() != Phase::Done {
        assert_ne!(watcher.phase(), Phase::Opaque);
        let (mut up, mut down) = (Vec::new(), Vec::new());
        tokio::select! {
            piece = piece(&mut from_client, most) => match piece {
                Some(piece) => watcher.client_sent(&piece, &mut |bytes| up.extend_from_slice(bytes)),
                None => watcher.client_ended(&mut |bytes| up.extend_from_slice(bytes)),
            },
            Some(piece) = piece(&mut from_server, most) => {
                watcher.server_sent(&piece, &mut |bytes| down.extend_from_slice(bytes));
            }
            () = drain.notified() => watcher.go_away(),
        }
        watcher.injected(&mut |bytes| down.extend_from_slice(bytes));
        to_server.write_all(&up).await.unwrap();
        // A client that was told the last stream may be gone when its calls are done.
        let _ = to_client.write_all(&down).await;
    }
    to_client.shutdown().await.unwrap();
    to_server.shutdown().await.unwrap();
}

async fn piece(from: &mut (impl AsyncRead + Unpin), most: usize) -> Option<Vec<u8>> {
    let mut piece = vec![0; most];
    let count = from.read(&mut piece).await.unwrap();
    piece.truncate(count);
    (count > 0).then_some(piece)
}
