//! The congestion controller of loopback connections: a window with a lid.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory};

/// The widest window, in bytes.
pub(crate) const CAP: u64 = 64 * 1024;

/// Builds [`Window`]s.
#[derive(Debug)]
pub(crate) struct Lid;

impl ControllerFactory for Lid {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let _ = (now, current_mtu);
        Box::new(Window(CAP))
    }
}

#[derive(Debug, Clone)]
struct Window(u64);

impl Controller for Window {
    fn on_ack(&mut self, _: Instant, _: Instant, _: u64, _: bool, _: &RttEstimator) {}
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}
    fn on_mtu_update(&mut self, _: u16) {}
    fn window(&self) -> u64 {
        self.0
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
    fn initial_window(&self) -> u64 {
        self.0
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
