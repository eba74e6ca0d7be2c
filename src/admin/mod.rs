//! The operator's HTTP: liveness, readiness, metrics and status.
