//! What Iris is for: certificates and CAs that change while everything goes on.

use std::{io::Write, time::Duration, time::Instant};

use quinn::{Connection, ConnectionError};
use tokio::time::{sleep, timeout};

use super::{
    Failure,
    load::Load,
    narrator::{Figure, Narrator},
    pki::{Authority, LeafSpec},
    stage::{COMPONENT, DAY, EDGE_NAMES, Files, PATIENCE, Stage, WORKER_NAMES, call},
};
use crate::{
    observe::{
        Observer,
        labels::{CloseReason, Label},
        status::MaterialRow,
    },
    transport::Code,
};

type Outcome = Result<Vec<Figure>, String>;

/// The whole story, under load.
pub(super) async fn tell(stage: &mut Stage, narrator: &mut Narrator<impl Write>) -> Result<(), Failure> {
    narrator.chapter("Certificates and CAs change while callers connect and ask without a rest")?;
    let load = Load::start(&stage.component, &stage.caller, stage.egress);
    let outcome = renew_both_leaves(stage, &load).await?;
    narrator.expect("both leaves renewed: in use for new connections, nothing closed", outcome)?;
    let outcome = torn_pair(stage).await?;
    narrator.expect("a certificate with another key: refused with its reason, the last good one stays", outcome)?;
    let outcome = overlap(stage).await?;
    narrator.expect("the platform's new CA is trusted beside the old, then its leaf is shown", outcome)?;
    let outcome = quiet(stage, &load).await;
    narrator.expect("no caller has noticed any of this", outcome)?;
    drop(load);

    narrator.chapter("The workers' old CA is taken out of the bundle")?;
    let outcome = remove(stage).await?;
    narrator.expect("what stood on it is closed at once, and cannot come back", outcome)?;
    let outcome = return_under_the_new_ca(stage).await?;
    narrator.expect("with a leaf of the new CA the same worker is welcome again", outcome)?;
    Ok(())
}

/// New leaves for both ends, with new keys, as cert-manager does it.
async fn renew_both_leaves(stage: &mut Stage, load: &Load) -> Result<Outcome, Failure> {
    let begun = until(|| load.counts.certificates() > 0).await;
    let before = load.counts.certificates();
    let edge = stage.platform.issue(LeafSpec::named("edge", EDGE_NAMES, DAY))?;
    let worker = stage.workers.issue(LeafSpec::named("worker", WORKER_NAMES, DAY))?;
    let start = Instant::now();
    stage.publish_edge(&Files { leaf: &edge, trust: &stage.workers.certificate() })?;
    let in_use = until(|| sequence(stage.ingress.observer(), "edge") >= 2).await;
    let edge_took = start.elapsed();
    let start = Instant::now();
    stage.publish_worker(&Files { leaf: &worker, trust: &stage.platform.certificate() })?;
    // The component itself is told of the new certificate.
    let shown = until(|| load.counts.certificates() > before).await;
    let worker_took = start.elapsed();
    stage.edge = edge;
    stage.worker = worker;
    Ok(begun.and(in_use).and(shown).and_then(|()| undisturbed(stage)).map(|()| {
        vec![
            Figure::time("server leaf after", edge_took),
            Figure::time("client leaf seen by the component after", worker_took),
        ]
    }))
}

/// The key of another leaf beside a good certificate.
async fn torn_pair(stage: &mut Stage) -> Result<Outcome, Failure> {
    let mut torn = stage.platform.issue(LeafSpec::named("edge", EDGE_NAMES, DAY))?;
    torn.private_key.clone_from(&stage.worker.private_key);
    let start = Instant::now();
    stage.publish_edge(&Files { leaf: &torn, trust: &stage.workers.certificate() })?;
    let refused = until(|| row(stage.ingress.observer(), "edge").is_some_and(|row| row.candidate_rejected)).await;
    let took = start.elapsed();
    let reason = row(stage.ingress.observer(), "edge").and_then(|row| row.last_refusal).map(|refusal| refusal.reason);
    let outcome = refused.and_then(|()| match reason {
        Some("key-mismatch") => undisturbed(stage).map(|()| vec![Figure::time("refused as key-mismatch after", took)]),
        other => Err(format!("refused as {other:?}")),
    });
    stage.remount_edge(None)?;
    Ok(outcome)
}

/// The documented order: first everybody trusts both CAs, then the new leaf is shown, then the old CA may go.
async fn overlap(stage: &mut Stage) -> Result<Outcome, Failure> {
    let successor = Authority::new("demo platform CA, the next")?;
    let both = format!("{}{}", stage.platform.certificate(), successor.certificate());
    stage.remount_worker(&both)?;
    let trusted = until(|| sequence(stage.egress_app.observer(), "platform") >= 2).await;
    let edge = successor.issue(LeafSpec::named("edge", EDGE_NAMES, DAY))?;
    let before = sequence(stage.ingress.observer(), "edge");
    let start = Instant::now();
    stage.publish_edge(&Files { leaf: &edge, trust: &stage.workers.certificate() })?;
    let shown = until(|| sequence(stage.ingress.observer(), "edge") > before).await;
    let took = start.elapsed();
    stage.edge = edge;
    stage.platform_bundle = both;
    Ok(trusted.and(shown).and_then(|()| undisturbed(stage)).map(|()| vec![Figure::time("new leaf after", took)]))
}

/// A little more load on what is in use now, and then the sum.
async fn quiet(stage: &Stage, load: &Load) -> Outcome {
    let more = load.counts.answered() + 50;
    until(|| load.counts.answered() >= more || load.counts.failed() > 0).await?;
    undisturbed(stage)?;
    match load.counts.first_failure() {
        None => Ok(vec![
            Figure::count("connections", load.counts.answered()),
            Figure::count("failed", load.counts.failed()),
            Figure::count("closed", 0),
        ]),
        Some(why) => Err(format!("{} of {} failed, first: {why}", load.counts.failed(), load.counts.answered())),
    }
}

/// A tunnel that stands on the workers' CA, and then that CA is gone.
async fn remove(stage: &mut Stage) -> Result<Outcome, Failure> {
    let successor = Authority::new("demo workers CA, the next")?;
    let start = Instant::now();
    stage.remount_edge(Some(&successor.certificate()))?;
    let closed = timeout(PATIENCE, stage.near.closed()).await;
    let took = start.elapsed();
    let told = match closed {
        Ok(ConnectionError::ApplicationClosed(close)) if close.error_code == Code::TrustRemoved.number().into() => {
            Ok(())
        }
        Ok(other) => Err(format!("closed with {other}")),
        Err(_) => Err("still open".to_owned()),
    };
    let again = timeout(PATIENCE, call(&stage.caller, stage.egress, COMPONENT)).await?;
    let refused = match again {
        Ok(_) => Err("a worker of the removed CA came back".to_owned()),
        Err(_) => Ok(()),
    };
    stage.workers = successor;
    let counted = closes(stage.ingress.observer(), CloseReason::TrustRemoved);
    Ok(told.and(refused).map(|()| vec![Figure::time("closed after", took), Figure::count("counted", counted)]))
}

async fn return_under_the_new_ca(stage: &mut Stage) -> Result<Outcome, Failure> {
    let worker = stage.workers.issue(LeafSpec::named("worker", WORKER_NAMES, DAY))?;
    let bundle = stage.platform_bundle.clone();
    let start = Instant::now();
    stage.publish_worker(&Files { leaf: &worker, trust: &bundle })?;
    let accepting = async { Some(stage.component.accept().await?.await.ok()) };
    let calling = async {
        loop {
            match call(&stage.caller, stage.egress, COMPONENT).await {
                Ok(connection) => break connection,
                // The new leaf is not in use yet.
                Err(_) => sleep(Duration::from_millis(20)).await,
            }
        }
    };
    let connected: Result<(Connection, _), _> = timeout(PATIENCE, async { tokio::join!(calling, accepting) }).await;
    Ok(connected.map(|_| vec![Figure::time("after", start.elapsed())]).map_err(|_| "still refused".to_owned()))
}

/// That the tunnel which stands since the beginning is still there.
fn undisturbed(stage: &Stage) -> Result<(), String> {
    match stage.near.close_reason().or(stage.far.close_reason()) {
        None => Ok(()),
        Some(closed) => Err(format!("the tunnel was closed: {closed}")),
    }
}

async fn until(mut look: impl FnMut() -> bool) -> Result<(), String> {
    let looking = async {
        while !look() {
            sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(PATIENCE, looking).await.map_err(|_| format!("nothing within {PATIENCE:?}"))
}

fn row(observer: &Observer, material: &str) -> Option<MaterialRow> {
    let now = std::time::SystemTime::now();
    observer.status(now, Default::default()).materials.into_iter().find(|row| row.name == material)
}

fn sequence(observer: &Observer, material: &str) -> u64 {
    row(observer, material).map_or(0, |row| row.sequence)
}

/// How many connections the ingress closed for this reason.
fn closes(observer: &Observer, reason: CloseReason) -> u64 {
    let series =
        format!("iris_connection_closes_total{{component=\"reverse-tunnel\",reason=\"{}\"}} ", reason.as_str());
    let text = observer.expose(std::time::SystemTime::now());
    text.lines().find_map(|line| line.strip_prefix(&series)?.parse().ok()).unwrap_or(0)
}
