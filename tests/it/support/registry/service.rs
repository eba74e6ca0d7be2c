//! The three methods, and reflection.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use http::{Request, Response};
use hyper::body::Incoming;
use serde_json::json;
use tokio::time::{Interval, MissedTickBehavior, interval};
use tonic::{
    Status, Streaming,
    body::Body,
    codegen::{Service as _, tokio_stream::Stream},
    server::{Grpc, ServerStreamingService, StreamingService, UnaryService},
};
use tonic_prost::ProstCodec;

use super::{
    Settings,
    journal::{Call, Journal},
    messages::{
        Acknowledgement, ListModelsRequest, ListModelsResponse, Snapshot, Stargate, Update, WatchStargatesRequest,
    },
};

/// What one connection is answered by.
#[derive(Clone)]
pub(super) struct Service {
    connection: u64,
    settings: Arc<Settings>,
    journal: Journal,
}

impl Service {
    pub(super) fn new(connection: u64, settings: Arc<Settings>, journal: Journal) -> Self {
        Self { connection, settings, journal }
    }

    pub(super) async fn answer(self, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
        let path = request.uri().path().to_owned();
        if path.starts_with("/grpc.reflection.") {
            return self.reflect(request).await;
        }
        let Some(method) = path.strip_prefix("/registration.v1.Registry/") else {
            return Ok(Status::unimplemented(format!("no method {path}")).into_http());
        };
        let bearer = request.headers().get("authorization").and_then(|value| value.to_str().ok());
        if bearer != Some(&format!("Bearer {}", self.settings.token)) {
            self.journal.write(json!({ "event": "unauthenticated", "method": method }));
            return Ok(Status::unauthenticated("no token that is known here").into_http());
        }
        let authority = request.uri().authority().map(http::uri::Authority::as_str);
        let call = self.journal.call(self.connection, method, authority);
        Ok(match method {
            "WatchStargates" => {
                let watch = Watch(Some(call), self.settings);
                Grpc::new(ProstCodec::default()).server_streaming(watch, request).await
            }
            "RegisterInferenceServer" => {
                Grpc::new(ProstCodec::default()).streaming(Register(Some(call)), request).await
            }
            "ListModels" => Grpc::new(ProstCodec::default()).unary(ListModels(call), request).await,
            _ => Status::unimplemented(format!("no method {path}")).into_http(),
        })
    }

    /// grpcurl asks by the version before 1.
    async fn reflect(self, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
        let Some(descriptors) = &self.settings.descriptors else {
            return Ok(Status::unimplemented("started without descriptors").into_http());
        };
        let build = tonic_reflection::server::Builder::configure().register_encoded_file_descriptor_set(descriptors);
        match build.build_v1alpha() {
            Ok(mut reflection) => reflection.call(request).await,
            Err(error) => Ok(Status::internal(error.to_string()).into_http()),
        }
    }
}

struct Watch(Option<Call>, Arc<Settings>);

impl ServerStreamingService<WatchStargatesRequest> for Watch {
    type Response = Snapshot;
    type ResponseStream = Snapshots;
    type Future = Ready<Result<tonic::Response<Snapshots>, Status>>;

    fn call(&mut self, _: tonic::Request<WatchStargatesRequest>) -> Self::Future {
        let mut pace = interval(self.1.every);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let call = self.0.take().expect("a service is called once");
        ready(Ok(tonic::Response::new(Snapshots { call, pace, sequence: 0, dial: self.1.dial_address.clone() })))
    }
}

/// The answers to a Watch. They have no end.
struct Snapshots {
    call: Call,
    pace: Interval,
    sequence: u64,
    dial: String,
}

impl Stream for Snapshots {
    type Item = Result<Snapshot, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        ready!(self.pace.poll_tick(cx));
        self.sequence += 1;
        self.call.note("snapshot", self.sequence);
        let stargate = |number| Stargate {
            pod: format!("stargate-{number}"),
            advertise_addr: format!("quic://10.0.0.{number}:50072"),
            grpc_pylon_dial_addr: self.dial.clone(),
        };
        Poll::Ready(Some(Ok(Snapshot { sequence: self.sequence, stargates: (0..3).map(stargate).collect() })))
    }
}

struct Register(Option<Call>);

impl StreamingService<Update> for Register {
    type Response = Acknowledgement;
    type ResponseStream = Acknowledgements;
    type Future = Ready<Result<tonic::Response<Acknowledgements>, Status>>;

    fn call(&mut self, request: tonic::Request<Streaming<Update>>) -> Self::Future {
        let call = self.0.take().expect("a service is called once");
        ready(Ok(tonic::Response::new(Acknowledgements { call, updates: request.into_inner() })))
    }
}

/// The answers to updates, which end when those do.
struct Acknowledgements {
    call: Call,
    updates: Streaming<Update>,
}

impl Stream for Acknowledgements {
    type Item = Result<Acknowledgement, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(update) = ready!(Pin::new(&mut self.updates).poll_next(cx)) else {
            self.call.finished = true;
            return Poll::Ready(None);
        };
        Poll::Ready(Some(update.map(|Update { sequence, .. }| {
            self.call.note("update", sequence);
            Acknowledgement { sequence }
        })))
    }
}

struct ListModels(Call);

impl UnaryService<ListModelsRequest> for ListModels {
    type Response = ListModelsResponse;
    type Future = Ready<Result<tonic::Response<ListModelsResponse>, Status>>;

    fn call(&mut self, _: tonic::Request<ListModelsRequest>) -> Self::Future {
        self.0.finished = true;
        ready(Ok(tonic::Response::new(ListModelsResponse { models: vec!["a-model".to_owned(), "another".to_owned()] })))
    }
}
