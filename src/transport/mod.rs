//! The seam that all bridges use: streams, datagrams, close.
