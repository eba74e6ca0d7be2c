//! Opening ends: from a route's upstream to a connected session.
