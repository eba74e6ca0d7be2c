//! The messages of `e2e/registry/registration.proto`, number for number.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct WatchStargatesRequest {
    #[prost(string, tag = "1")]
    pub(crate) worker: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Snapshot {
    #[prost(uint64, tag = "1")]
    pub(crate) sequence: u64,
    #[prost(message, repeated, tag = "2")]
    pub(crate) stargates: Vec<Stargate>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Stargate {
    #[prost(string, tag = "1")]
    pub(crate) pod: String,
    #[prost(string, tag = "2")]
    pub(crate) advertise_addr: String,
    #[prost(string, tag = "3")]
    pub(crate) grpc_pylon_dial_addr: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Update {
    #[prost(string, tag = "1")]
    pub(crate) worker: String,
    #[prost(uint64, tag = "2")]
    pub(crate) sequence: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Acknowledgement {
    #[prost(uint64, tag = "1")]
    pub(crate) sequence: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ListModelsRequest {}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ListModelsResponse {
    #[prost(string, repeated, tag = "1")]
    pub(crate) models: Vec<String>,
}
