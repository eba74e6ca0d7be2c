//! Readiness: who is able to do its work, and what stands in the way.

use std::fmt::Write as _;

/// Where the process is in its life. It only ever moves forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Not every socket is bound.
    Starting,
    /// At work.
    Running,
    /// On its way out.
    Draining,
}

/// One condition of a component, and whether it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// `bound`, or the kind of a material, or a name that the component's owner chose.
    pub name: &'static str,
    /// Why it does not hold; `None` when it does.
    pub unmet: Option<String>,
}

/// One listener or upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentReadiness {
    /// Its name.
    pub name: String,
    /// All its conditions.
    pub conditions: Vec<Condition>,
}

impl ComponentReadiness {
    /// Whether every condition holds.
    pub fn is_ready(&self) -> bool {
        self.conditions.iter().all(|condition| condition.unmet.is_none())
    }

    /// What stands in the way, as `condition: reason`, several with `; ` between; `None` when nothing does.
    pub fn reason(&self) -> Option<String> {
        let reasons: Vec<String> = self
            .conditions
            .iter()
            .filter_map(|condition| condition.unmet.as_ref().map(|why| format!("{}: {why}", condition.name)))
            .collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }
}

/// The readiness of the process at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    /// Where the process is in its life.
    pub phase: Phase,
    /// Every listener and upstream, in the order of the configuration.
    pub components: Vec<ComponentReadiness>,
}

impl Readiness {
    /// Whether the process takes work: it runs and every component is ready.
    pub fn is_ready(&self) -> bool {
        self.phase == Phase::Running && self.components.iter().all(ComponentReadiness::is_ready)
    }

    /// What stands in the way, one line each.
    pub fn reasons(&self) -> Vec<String> {
        let phase = match self.phase {
            Phase::Starting => Some("starting: not every socket is bound".to_owned()),
            Phase::Running => None,
            Phase::Draining => Some("draining: the process is stopping".to_owned()),
        };
        let components = self
            .components
            .iter()
            .filter_map(|component| component.reason().map(|reason| format!("{}: {reason}", component.name)));
        phase.into_iter().chain(components).collect()
    }

    /// The body of `/readyz`: the verdict and what stands in the way; with `verbose` every condition.
    pub fn to_text(&self, verbose: bool) -> String {
        let mut text = String::new();
        if verbose {
            for component in &self.components {
                for condition in &component.conditions {
                    let _ = match &condition.unmet {
                        None => writeln!(text, "[+] {} {}: ok", component.name, condition.name),
                        Some(why) => writeln!(text, "[-] {} {}: {why}", component.name, condition.name),
                    };
                }
            }
        }
        if self.is_ready() {
            text.push_str("ready\n");
        } else {
            text.push_str("not ready\n");
            for reason in self.reasons() {
                let _ = writeln!(text, "{reason}");
            }
        }
        text
    }
}
