//! Who plays: a PKI on disk, two Iris, a component and a caller.

use std::{net::SocketAddr, time::Duration};

use iris_loopback::{ClientHello, ServerConfig, client_endpoint, connect_default, server_endpoint};
use quinn::{Connection, Endpoint};
use tempfile::TempDir;
use tokio::time::timeout;

use super::{
    Failure,
    pki::{Authority, LeafSpec},
    volume::Volume,
};
use crate::{app::Running, plan};

/// The name of the platform's component.
pub(super) const COMPONENT: &str = "stargate-0.demo.test";

/// Far longer than anything here takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

const DAY: Duration = Duration::from_secs(86_400);

/// Everything that the demo runs.
pub(super) struct Stage {
    _component: Endpoint,
    pub(super) caller: Endpoint,
    pub(super) egress: SocketAddr,
    /// The caller's end of a connection through both Iris.
    pub(super) near: Connection,
    /// The component's end of it.
    pub(super) far: Connection,
    _iris: [Running; 2],
    _directory: TempDir,
}

impl Stage {
    /// Makes the PKI, starts everybody and connects.
    pub(super) async fn set() -> Result<Self, Failure> {
        let directory = TempDir::new()?;
        let (platform, workers) = (Authority::new("demo platform CA")?, Authority::new("demo workers CA")?);
        let edge = platform.issue(LeafSpec::named("edge", &["*.demo.test"], DAY))?;
        let worker = workers.issue(LeafSpec::named("worker", &["worker-0.workers.test"], DAY))?;
        let mut server_files = Volume::create(directory.path().join("edge"))?;
        server_files.publish(&[
            ("tls.crt", &edge.certificate),
            ("tls.key", &edge.private_key),
            ("ca.crt", &workers.certificate()),
        ])?;
        let mut worker_files = Volume::create(directory.path().join("worker"))?;
        worker_files.publish(&[
            ("tls.crt", &worker.certificate),
            ("tls.key", &worker.private_key),
            ("ca.crt", &platform.certificate()),
        ])?;
        let loopback: SocketAddr = ([127, 0, 0, 1], 0).into();
        let component = server_endpoint(loopback, ServerConfig::default())?;
        let ingress = start(&ingress(&server_files, component.local_addr()?))?;
        let ingress_address = ingress.address("reverse-tunnel").ok_or("the ingress is not bound")?;
        let egress = start(&egress(&worker_files, ingress_address))?;
        let egress_address = egress.address("to-stargate").ok_or("the egress is not bound")?;
        let caller = client_endpoint(loopback)?;
        let accepting =
            async { component.accept().await.ok_or("the component is closed")?.await.map_err(Failure::from) };
        let calling = call(&caller, egress_address, COMPONENT);
        let (near, far) = timeout(PATIENCE, async { tokio::try_join!(calling, accepting) }).await??;
        let iris = [egress, ingress];
        Ok(Self {
            _component: component,
            caller,
            egress: egress_address,
            near,
            far,
            _iris: iris,
            _directory: directory,
        })
    }
}

/// Connects as a caller that asks for `name`.
pub(super) async fn call(caller: &Endpoint, egress: SocketAddr, name: &str) -> Result<Connection, Failure> {
    let hello = ClientHello { server_name: Some(name.to_owned()), ..ClientHello::default() };
    Ok(connect_default(caller, egress, hello)?.await?)
}

fn start(yaml: &str) -> Result<Running, Failure> {
    Ok(Running::start(plan::from_yaml(yaml)?)?)
}

fn ingress(files: &Volume, component: SocketAddr) -> String {
    format!(
        "identities:
  edge: {{ certificate: {}, private_key: {}, expect: {{ names: [ '*.demo.test' ] }} }}
trust:
  workers: {{ bundle: {}, on_contraction: {{ still_trusted: recycle, spread: 1s }} }}
listeners:
  - name: reverse-tunnel
    listen: quic://127.0.0.1:0
    tls:
      identities: [ edge ]
      client_auth: {{ trust: workers, allow: {{ dns: [ '*.workers.test' ] }} }}
    routes: [ {{ upstream: stargate }} ]
upstreams:
  - {{ name: stargate, dial: 'quic+plaintext://{component}' }}
",
        files.path("tls.crt").display(),
        files.path("tls.key").display(),
        files.path("ca.crt").display(),
    )
}

fn egress(files: &Volume, ingress: SocketAddr) -> String {
    format!(
        "identities:
  worker: {{ certificate: {}, private_key: {} }}
trust:
  platform: {{ bundle: {}, on_contraction: {{ still_trusted: recycle, spread: 1s }} }}
listeners:
  - name: to-stargate
    listen: quic+plaintext://127.0.0.1:0
    routes: [ {{ upstream: stargate-edge }} ]
upstreams:
  - {{ name: stargate-edge, dial: 'quic://{ingress}', tls: {{ trust: platform, identity: worker, server_name: requested }} }}
",
        files.path("tls.crt").display(),
        files.path("tls.key").display(),
        files.path("ca.crt").display(),
    )
}
