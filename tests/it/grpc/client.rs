//! A worker: a gRPC client over whatever carries HTTP/2.

use std::{
    future::Future,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response, uri::PathAndQuery};
use hyper::{
    body::Incoming,
    client::conn::http2::{self, SendRequest},
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::mpsc,
    task::JoinHandle,
};
use tonic::{
    Status, Streaming,
    body::Body,
    client::Grpc,
    codegen::{Service, tokio_stream::Stream},
};
use tonic_prost::ProstCodec;

use crate::support::{
    registry::messages::{
        Acknowledgement, ListModelsRequest, ListModelsResponse, Snapshot, Update, WatchStargatesRequest,
    },
    wait::within,
};

/// The name that pods are asked for by.
pub(super) const AUTHORITY: &str = "stargate-0.stargate.example.com:50071";

/// A connection of HTTP/2, and what its calls say.
pub(super) struct Client {
    grpc: Grpc<Channel>,
    token: Option<&'static str>,
    /// Ends with the connection.
    pub(super) connection: JoinHandle<hyper::Result<()>>,
}

impl Client {
    /// Speaks HTTP/2 over `stream`, with PINGs at this pace if any, which may go unanswered for 20 s.
    pub(super) async fn over(
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        ping: Option<Duration>,
    ) -> Self {
        Self::try_over(stream, ping).await.unwrap()
    }

    async fn try_over(
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        ping: Option<Duration>,
    ) -> hyper::Result<Self> {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.timer(TokioTimer::new());
        if let Some(pace) = ping {
            builder.keep_alive_interval(pace).keep_alive_timeout(Duration::from_secs(20)).keep_alive_while_idle(true);
        }
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
        let origin = format!("https://{AUTHORITY}").parse().unwrap();
        let grpc = Grpc::with_origin(Channel(sender), origin);
        Ok(Self { grpc, token: Some("worker-token"), connection: tokio::spawn(connection) })
    }

    /// Calls without a token.
    pub(super) fn without_token(mut self) -> Self {
        self.token = None;
        self
    }

    pub(super) async fn watch(&mut self) -> Result<Streaming<Snapshot>, Status> {
        let request = self.request(WatchStargatesRequest { worker: "w1".to_owned() });
        let path = PathAndQuery::from_static("/registration.v1.Registry/WatchStargates");
        within("a Watch", async {
            self.ready().await?;
            let answer = self.grpc.server_streaming(request, path, ProstCodec::default()).await?;
            Ok(answer.into_inner())
        })
        .await
    }

    /// A call and the way to send its updates, which end when that is dropped.
    pub(super) async fn register(&mut self) -> Result<(mpsc::Sender<Update>, Streaming<Acknowledgement>), Status> {
        let (sender, updates) = mpsc::channel(1);
        let request = self.request(Updates(updates));
        let path = PathAndQuery::from_static("/registration.v1.Registry/RegisterInferenceServer");
        within("a Register", async {
            self.ready().await?;
            let answer = self.grpc.streaming(request, path, ProstCodec::default()).await?;
            Ok((sender, answer.into_inner()))
        })
        .await
    }

    pub(super) async fn list_models(&mut self) -> Result<ListModelsResponse, Status> {
        let request = self.request(ListModelsRequest {});
        let path = PathAndQuery::from_static("/registration.v1.Registry/ListModels");
        within("a list", async {
            self.ready().await?;
            let answer = self.grpc.unary(request, path, ProstCodec::default()).await?;
            Ok(answer.into_inner())
        })
        .await
    }

    async fn ready(&mut self) -> Result<(), Status> {
        self.grpc.ready().await.map_err(|error| Status::unavailable(format!("{error:?}")))
    }

    fn request<T>(&self, message: T) -> tonic::Request<T> {
        let mut request = tonic::Request::new(message);
        if let Some(token) = self.token {
            request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        }
        request
    }
}

/// A worker without TLS at `to` gets nowhere: it is cut, and may learn that while it still connects.
pub(super) async fn turned_away(to: SocketAddr) {
    let Ok(stream) = TcpStream::connect(to).await else { return };
    let Ok(mut client) = Client::try_over(stream, None).await else { return };
    client.list_models().await.unwrap_err();
    client.watch().await.unwrap_err();
}

/// The next message of a call, which must come.
pub(super) async fn next<T>(call: &mut Streaming<T>) -> T {
    within("a message", call.message()).await.unwrap().expect("the call goes on")
}

/// One update, and that it is acknowledged.
pub(super) async fn update(updates: &mpsc::Sender<Update>, acks: &mut Streaming<Acknowledgement>, sequence: u64) {
    updates.send(Update { worker: "w1".to_owned(), sequence }).await.unwrap();
    assert_eq!(next(acks).await.sequence, sequence);
}

struct Updates(mpsc::Receiver<Update>);

impl Stream for Updates {
    type Item = Update;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Update>> {
        self.0.poll_recv(cx)
    }
}

/// What tonic calls through.
struct Channel(SendRequest<Body>);

impl Service<Request<Body>> for Channel {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = hyper::Result<Response<Incoming>>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<hyper::Result<()>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}
