use super::from_yaml;

mod design;
mod examples;
mod mistakes;
mod notices;
mod registry;
mod round_trip;
