//! The only constructors of TLS and QUIC crypto configurations, derived whole from generations and plan.
