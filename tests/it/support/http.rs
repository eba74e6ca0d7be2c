//! The operator's HTTP, as a probe or Prometheus asks it.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
};

use super::{secrets, wait::PATIENCE};

/// Status and body of an answer, which is searched for secrets.
pub(crate) fn get(from: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(from).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: {from}\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    secrets::search(path, answer.as_bytes());
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).expect("a status").parse().unwrap();
    (status, body.to_owned())
}
