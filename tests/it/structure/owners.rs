//! One owner for each heavy dependency, and for each constructor that must not be called in two places.

use super::{breach, source::SourceFile};

/// What is owned.
#[derive(Debug, Clone, Copy)]
pub(super) enum Owned {
    /// A crate, as code names it.
    Crate(&'static str),
    /// A type or function, whatever path leads to it.
    Item(&'static str),
}

use Owned::{Crate, Item};

/// What is owned, and the paths (files, or folders with a closing `/`) that alone may use it.
pub(super) type Rule = (Owned, &'static [&'static str]);

/// The rules of this repository.
pub(super) const OWNERS: &[Rule] = &[
    (Crate("saphyr_parser"), &["src/config/yaml.rs", "src/config/yaml/"]),
    (Crate("notify"), &["src/material/watch.rs", "src/material/watch/"]),
    (Crate("arc_swap"), &["src/material/publish.rs"]),
    (Crate("prometheus"), &["src/observe/metrics.rs", "src/observe/metrics/"]),
    (Crate("proxy_header"), &["src/transport/proxy.rs"]),
    (Crate("clap"), &["src/cli/"]),
    (Crate("hyper"), &["src/admin/"]),
    (Crate("hyper_util"), &["src/admin/"]),
    (Crate("http_body_util"), &["src/admin/"]),
    // A handshake anywhere else would be judged by nobody.
    (Crate("tokio_rustls"), &["src/tls/stream.rs", "src/transport/bytes.rs", "src/cli/probe.rs", "src/cli/probe/"]),
    (Crate("rcgen"), &["src/cli/demo.rs", "src/cli/demo/"]),
    (Crate("h3"), &["src/cli/probe.rs", "src/cli/probe/"]),
    // Whoever builds such a configuration elsewhere forgets one of its refusals (resumption, early data, versions).
    (Item("builder_with_provider"), &["src/tls/"]),
    (Item("QuicServerConfig"), &["src/tls/"]),
    (Item("QuicClientConfig"), &["src/tls/"]),
];

/// Dependencies that have an owner and are not in Cargo.toml yet.
pub(super) const EXPECTED_LATER: &[&str] = &[];

/// Uses outside of the owner's files.
pub(super) fn trespasses(files: &[SourceFile], rules: &[Rule]) -> Vec<String> {
    let mut breaches = Vec::new();
    for file in files.iter().filter(|f| !f.is_test()) {
        let code = file.code();
        for (owned, homes) in rules {
            let home = |h: &&str| if h.ends_with('/') { file.path.starts_with(*h) } else { file.path == **h };
            if !homes.iter().any(home) && owned.is_used_in(&code) {
                breaches.push(breach(&file.path, format_args!("{} belongs to {}", owned.name(), homes.join(", "))));
            }
        }
    }
    breaches
}

/// Crates that have an owner and are not in the manifest: the rule would watch over nothing.
pub(super) fn unknown(rules: &[Rule], manifest: &str, later: &[&str]) -> Vec<String> {
    let declared = |name: &str| {
        let key = |line: &str| line.split(['=', '.']).next().unwrap_or("").trim().replace('-', "_");
        manifest.lines().any(|line| key(line) == name)
    };
    let crates = rules.iter().filter_map(|(owned, _)| match owned {
        Crate(name) => Some(*name),
        Item(_) => None,
    });
    let missing = crates.filter(|name| !declared(name) && !later.contains(name));
    missing.map(|name| breach("Cargo.toml", format_args!("{name} has an owner and is not there"))).collect()
}

impl Owned {
    fn name(self) -> &'static str {
        match self {
            Crate(name) | Item(name) => name,
        }
    }

    fn is_used_in(self, code: &str) -> bool {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        code.match_indices(self.name()).any(|(at, name)| {
            let (before, after) = (&code[..at], &code[at + name.len()..]);
            let whole = !before.ends_with(word) && !after.starts_with(word);
            whole
                && match self {
                    Item(_) => true,
                    // A local variable of the same name leads no path, and a module of the same name has one before it.
                    Crate(_) => {
                        let leads = after.trim_start().starts_with("::") || before.trim_end().ends_with("use");
                        let is_head = match before.strip_suffix("::") {
                            None => true,
                            Some(front) => !front.ends_with(|c: char| word(c) || c == '>'),
                        };
                        leads && is_head
                    }
                }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        trespasses(&[SourceFile::new(path, text)], OWNERS).len()
    }

    #[test]
    fn a_trespass_is_found() {
        assert_eq!(found("src/plan/mod.rs", "use saphyr_parser::Parser;"), 1);
        assert_eq!(found("src/config/yaml.rs", "use saphyr_parser::Parser;"), 0);
        assert_eq!(found("src/config/walk.rs", "fn f(x: saphyr_parser::Event) {}"), 1);
        assert_eq!(found("src/config/walk.rs", "fn f(x: ::saphyr_parser::Event) {}"), 1);
        assert_eq!(found("src/app.rs", "use clap::Parser;"), 1);
        assert_eq!(found("src/app.rs", "use {std::fmt, clap::Parser};"), 1);
        assert_eq!(found("src/tls/mod.rs", "let x: arc_swap::ArcSwap<u8>;"), 1);
        assert_eq!(found("src/listen/mod.rs", "rustls::ServerConfig::builder_with_provider(p)"), 1);
        assert_eq!(found("src/dial/mod.rs", "use quinn::crypto::rustls::QuicClientConfig;"), 1);
        assert_eq!(found("src/bridge/mod.rs", "use h3::quic;"), 1);
    }

    #[test]
    fn a_name_alone_is_no_use() {
        assert_eq!(found("src/app.rs", "let notify = Notify::new(); notify.notified();"), 0);
        assert_eq!(found("src/app.rs", "// prometheus::Registry\n"), 0);
        assert_eq!(found("src/app.rs", "use crate::observe::prometheus::x; let hyperbole = 1;"), 0);
        assert_eq!(found("src/app.rs", "#[cfg(test)] mod tests { use rcgen::X; }"), 0);
        assert_eq!(found("src/tls/tests.rs", "use rcgen::X;"), 0);
    }

    #[test]
    fn a_rule_about_nothing_is_found() {
        let manifest = "[dependencies]\nsaphyr-parser = \"1\"\nclap.workspace = true\n";
        let rules: &[Rule] =
            &[(Crate("saphyr_parser"), &[]), (Crate("clap"), &[]), (Crate("gone"), &[]), (Item("x"), &[])];
        assert_eq!(unknown(rules, manifest, &[]), ["Cargo.toml: gone has an owner and is not there"]);
        assert!(unknown(rules, manifest, &["gone"]).is_empty());
    }
}
