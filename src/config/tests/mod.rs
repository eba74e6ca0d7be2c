mod docs;
mod problem;
mod yaml;
