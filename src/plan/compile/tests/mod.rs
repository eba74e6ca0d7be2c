use super::from_yaml;

mod design;
mod mistakes;
mod registry;
