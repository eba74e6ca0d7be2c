//! Who plays: a PKI on disk, two Iris, a component and a caller.

use std::{io, net::SocketAddr, time::Duration};

use iris_loopback::{ClientHello, ServerConfig, client_endpoint, connect_default, server_endpoint};
use quinn::{Connection, Endpoint};
use tempfile::TempDir;
use tokio::time::timeout;

use super::{
    Failure,
    pki::{Authority, Leaf, LeafSpec},
    volume::Volume,
};
use crate::{app::Running, plan};

/// The name of the platform's component.
pub(super) const COMPONENT: &str = "stargate-0.demo.test";

/// The names that the platform's certificate bears.
pub(super) const EDGE_NAMES: &[&str] = &["*.demo.test"];

/// The names that the worker's certificate bears.
pub(super) const WORKER_NAMES: &[&str] = &["worker-0.workers.test"];

/// Far longer than anything here takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// How long a leaf is good for.
pub(super) const DAY: Duration = Duration::from_secs(86_400);

/// Everything that the demo runs.
pub(super) struct Stage {
    pub(super) component: Endpoint,
    pub(super) caller: Endpoint,
    pub(super) egress: SocketAddr,
    /// The caller's end of a connection through both Iris.
    pub(super) near: Connection,
    /// The component's end of it.
    pub(super) far: Connection,
    pub(super) egress_app: Running,
    pub(super) ingress: Running,
    /// The CA of the platform's leaf, and what workers trust.
    pub(super) platform: Authority,
    pub(super) platform_bundle: String,
    /// The CA of the workers' leaves.
    pub(super) workers: Authority,
    pub(super) edge: Leaf,
    pub(super) worker: Leaf,
    edge_volume: Volume,
    worker_volume: Volume,
    _directory: TempDir,
}

/// What one pod has mounted.
pub(super) struct Files<'a> {
    pub(super) leaf: &'a Leaf,
    pub(super) trust: &'a str,
}

impl Files<'_> {
    fn publish(&self, volume: &mut Volume) -> io::Result<()> {
        let (certificate, key) = (&self.leaf.certificate, &self.leaf.private_key);
        volume.publish(&[("tls.crt", certificate), ("tls.key", key), ("ca.crt", self.trust)]).map(drop)
    }
}

impl Stage {
    /// Makes the PKI, starts everybody and connects.
    pub(super) async fn set() -> Result<Self, Failure> {
        let directory = TempDir::new()?;
        let (platform, workers) = (Authority::new("demo platform CA")?, Authority::new("demo workers CA")?);
        let edge = platform.issue(LeafSpec::named("edge", EDGE_NAMES, DAY))?;
        let worker = workers.issue(LeafSpec::named("worker", WORKER_NAMES, DAY))?;
        let mut edge_volume = Volume::create(directory.path().join("edge"))?;
        Files { leaf: &edge, trust: &workers.certificate() }.publish(&mut edge_volume)?;
        let mut worker_volume = Volume::create(directory.path().join("worker"))?;
        let platform_bundle = platform.certificate();
        Files { leaf: &worker, trust: &platform_bundle }.publish(&mut worker_volume)?;
        let loopback: SocketAddr = ([127, 0, 0, 1], 0).into();
        let component = server_endpoint(loopback, ServerConfig::default())?;
        let ingress = start(&ingress_yaml(&edge_volume, component.local_addr()?))?;
        let ingress_address = ingress.address("reverse-tunnel").ok_or("the ingress is not bound")?;
        let egress_app = start(&egress_yaml(&worker_volume, ingress_address))?;
        let egress = egress_app.address("to-stargate").ok_or("the egress is not bound")?;
        let caller = client_endpoint(loopback)?;
        let accepting =
            async { component.accept().await.ok_or("the component is closed")?.await.map_err(Failure::from) };
        let calling = call(&caller, egress, COMPONENT);
        let (near, far) = timeout(PATIENCE, async { tokio::try_join!(calling, accepting) }).await??;
        Ok(Self {
            component,
            caller,
            egress,
            near,
            far,
            egress_app,
            ingress,
            platform,
            platform_bundle,
            workers,
            edge,
            worker,
            edge_volume,
            worker_volume,
            _directory: directory,
        })
    }

    /// Changes what the platform's pod has mounted, all at once.
    pub(super) fn publish_edge(&mut self, files: &Files<'_>) -> io::Result<()> {
        files.publish(&mut self.edge_volume)
    }

    /// The platform's leaf as it is, beside another trust bundle or the one that it has.
    pub(super) fn remount_edge(&mut self, trust: Option<&str>) -> io::Result<()> {
        let own = self.workers.certificate();
        Files { leaf: &self.edge, trust: trust.unwrap_or(&own) }.publish(&mut self.edge_volume)
    }

    /// The worker's leaf as it is, beside another trust bundle.
    pub(super) fn remount_worker(&mut self, trust: &str) -> io::Result<()> {
        Files { leaf: &self.worker, trust }.publish(&mut self.worker_volume)
    }

    /// Changes what the worker's pod has mounted, all at once.
    pub(super) fn publish_worker(&mut self, files: &Files<'_>) -> io::Result<()> {
        files.publish(&mut self.worker_volume)
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

fn ingress_yaml(files: &Volume, component: SocketAddr) -> String {
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

fn egress_yaml(files: &Volume, ingress: SocketAddr) -> String {
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
