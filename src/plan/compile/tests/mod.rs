use super::from_yaml;

mod design;
