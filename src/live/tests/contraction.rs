use std::{sync::Arc, time::Duration};

use rustls::pki_types::UnixTime;

use super::rig::{Rig, connection, far};
use crate::{
    live::{Contraction, Registry},
    material::{
        publish,
        testing::{Ca, Leaf},
    },
    observe::labels::CloseReason,
    plan::StillTrusted,
    tls::Configs,
};

const DEADLINE: Duration = Duration::from_secs(20);

struct Guarded {
    rig: Rig,
    publisher: publish::Publisher<Configs>,
    contraction: Contraction,
}

impl Guarded {
    fn new(cas: &[&Ca], still_trusted: StillTrusted) -> Self {
        let rig = Rig::new(cas, still_trusted, None);
        let (publisher, reader) = publish::channel(Configs::derive(&rig.bench.plan, &Default::default()).unwrap());
        publisher.publish(rig.configs());
        let (plan, registry) = (Arc::new(rig.bench.plan.clone()), Arc::new(Registry::default()));
        let contraction = Contraction::start(plan, registry, rig.observer.clone(), reader).unwrap();
        Self { rig, publisher, contraction }
    }

    /// Registers a connection that was dialled under `configs`.
    fn register(&self, configs: &Configs, leaf: &Leaf) -> crate::live::Ticket {
        let ticket = self.contraction.enter(connection());
        self.contraction.connected(&ticket, far(configs, leaf, UnixTime::now()));
        ticket
    }
}

#[tokio::test]
async fn whoever_is_there_is_swept_and_whoever_comes_late_is_compared() {
    let (old, new) = (Ca::new("old"), Ca::new("new"));
    let mut guarded = Guarded::new(&[&old, &new], StillTrusted::Keep);
    let before = guarded.rig.configs();
    let (gone, kept) = (old.leaf(&["peer.test"]), new.leaf(&["peer.test"]));
    let (there, stays) = (guarded.register(&before, &gone), guarded.register(&before, &kept));
    let after = guarded.rig.trusting(&[&new]);
    guarded.publisher.publish(after.clone());
    // Published and not swept: the handshakes were in flight, and the answer is there at once.
    let (late, late_and_welcome) = (guarded.register(&before, &gone), guarded.register(&before, &kept));
    assert_eq!(late.connection().decided().unwrap().reason, CloseReason::TrustRemoved);
    assert!(late_and_welcome.connection().decided().is_none());
    assert!(there.connection().decided().is_none(), "nobody has swept yet");
    guarded.contraction.after_publish(&after);
    let order = tokio::time::timeout(DEADLINE, there.ordered()).await.unwrap();
    assert_eq!(order.reason, CloseReason::TrustRemoved);
    assert!(stays.connection().decided().is_none());
}

#[tokio::test]
async fn once_stopped_nothing_is_swept() {
    let (old, new) = (Ca::new("old"), Ca::new("new"));
    let mut guarded = Guarded::new(&[&old, &new], StillTrusted::Recycle { spread: Duration::ZERO });
    let there = guarded.register(&guarded.rig.configs(), &old.leaf(&["peer.test"]));
    let after = guarded.rig.trusting(&[&new]);
    guarded.contraction.stop();
    guarded.publisher.publish(after.clone());
    guarded.contraction.after_publish(&after);
    let connection = there.connection().clone();
    // Its thread has ended when this returns.
    drop(guarded);
    assert!(connection.decided().is_none());
}
