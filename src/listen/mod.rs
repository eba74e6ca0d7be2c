//! Accepting ends: from a bound socket to a session with a route.
