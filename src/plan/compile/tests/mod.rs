use super::from_yaml;

mod design;
mod examples;
mod mistakes;
mod registry;
mod round_trip;
