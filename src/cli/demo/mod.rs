//! `iris demo`: a component, a caller and two Iris between them, with a throwaway PKI in a temporary directory. It tells
//! what passes and what is refused, with measured figures, and fails when an expectation does not hold.

mod load;
pub mod narrator;
pub mod pki;
mod refusals;
mod rotation;
mod stage;
mod traffic;
pub mod volume;

#[cfg(test)]
mod tests;

use std::{error::Error, io};

use self::{narrator::Narrator, stage::Stage};
use super::{exit::Exit, output};

/// Whatever keeps the demo from being told.
type Failure = Box<dyn Error + Send + Sync>;

const PICTURE: &str = "\
caller --- loopback QUIC ---> egress Iris === QUIC, TLS 1.3 ===> ingress Iris --- loopback QUIC ---> component
  Caller and component know no TLS. Each Iris shows a certificate and judges the other's.";

/// Runs the demo.
pub(super) fn run(json: bool) -> Exit {
    match tell(Narrator::new(io::stdout().lock(), json)) {
        Ok(true) => Exit::Success,
        Ok(false) => Exit::Problems,
        Err(error) => match error.downcast_ref::<io::Error>().map(io::Error::kind) {
            // Nobody listens any more.
            Some(io::ErrorKind::BrokenPipe) => Exit::Success,
            _ => {
                output::complain(&format!("iris demo: {error}"));
                Exit::Problems
            }
        },
    }
}

fn tell(mut narrator: Narrator<impl io::Write>) -> Result<bool, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        narrator.tell(PICTURE)?;
        let mut stage = Stage::set().await?;
        traffic::requests(&stage, &mut narrator).await?;
        traffic::whatever_quic_carries(&stage, &mut narrator).await?;
        refusals::tell(&stage, &mut narrator).await?;
        rotation::tell(&mut stage, &mut narrator).await?;
        Ok(narrator.finish()?)
    })
}
