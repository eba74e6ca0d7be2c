//! Who is refused, and in which words the caller hears of it.

use std::{io::Write, time::Instant};

use quinn::ConnectionError;
use tokio::time::timeout;

use super::{
    Failure,
    narrator::{Figure, Narrator},
    stage::{PATIENCE, Stage, call},
};

/// A name that the certificate does not bear, and then that the rest goes on.
pub(super) async fn tell(stage: &Stage, narrator: &mut Narrator<impl Write>) -> Result<(), Failure> {
    narrator.chapter("Who is refused")?;
    let start = Instant::now();
    let connected = timeout(PATIENCE, call(&stage.caller, stage.egress, "stargate-0.other.test")).await?;
    let outcome = match connected {
        Ok(_) => Err("connected to a peer whose certificate bears another name".to_owned()),
        Err(error) => refused(&error).map(|said| (said, vec![Figure::time("after", start.elapsed())])),
    };
    match outcome {
        Ok((said, figures)) => {
            narrator.expect("a peer whose certificate bears another name", Ok(figures))?;
            narrator.tell(&format!("        the caller's connect failed: {said}"))?;
        }
        Err(instead) => narrator.expect("a peer whose certificate bears another name", Err(instead))?,
    }
    let undisturbed = match stage.near.close_reason().or(stage.far.close_reason()) {
        None => Ok(Vec::new()),
        Some(closed) => Err(closed.to_string()),
    };
    narrator.expect("the connection beside it noticed nothing", undisturbed)?;
    Ok(())
}

/// The words of a refusal, or what happened in place of one.
fn refused(error: &Failure) -> Result<String, String> {
    match error.downcast_ref::<ConnectionError>() {
        Some(ConnectionError::ConnectionClosed(close)) => Ok(String::from_utf8_lossy(&close.reason).into_owned()),
        _ => Err(error.to_string()),
    }
}
