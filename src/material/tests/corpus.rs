//! The corpus of odd materials (`tests/materials/gen.sh`): every case gets the verdict of its `expect.txt`.
//!
//! It is generated, which takes half a minute, unless `IRIS_MATERIALS` names a directory where it already is.

use std::{
    collections::HashSet,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustls::pki_types::{CertificateDer, UnixTime};

use crate::{
    material::{
        Authority, Generation, Identity, Reason, RevocationLists, TrustBundle, Usage,
        identity::{self, IdentityFiles, Requirements},
        pem,
        read::{self, ReadPolicy},
        reason::Fault,
        revocation,
        roles::Roles,
        trust,
    },
    plan::RevocationPolicy,
};

/// Where the corpus leaves it to policy: what was decided. `None`: accepted.
const POLICY: [(&str, Option<Reason>); 24] = [
    ("chain-missing-intermediate", None),
    ("crl-expired", None),
    ("crl-missing-for-intermediate", None),
    ("crl-not-yet", Some(Reason::CrlNotYet)),
    ("crl-rollback", Some(Reason::CrlRollback)),
    ("crl-wrong-issuer", Some(Reason::CrlUnrelated)),
    ("key-p521", None),
    ("leaf-eku-any", Some(Reason::ExtKeyUsage)),
    ("leaf-is-ca", Some(Reason::CaAsLeaf)),
    ("leaf-sha1-signed", Some(Reason::WeakSignature)),
    ("leaf-starts-in-2m", Some(Reason::NotYetValid)),
    ("san-none-cn-only", Some(Reason::NoSan)),
    ("tb-150-same-subject", Some(Reason::PathBudget)),
    ("tb-ca-false", Some(Reason::NotACa)),
    ("tb-ca-false-mixed", Some(Reason::NotACa)),
    ("tb-corrupt-der-among-good", Some(Reason::BadDer)),
    ("tb-ku-no-certsign", Some(Reason::KeyUsage)),
    ("tb-leaf-as-anchor", Some(Reason::NotACa)),
    ("tb-no-basic-constraints", Some(Reason::NotACa)),
    ("tb-pathlen-violated", None),
    ("tb-private-key-inside", Some(Reason::UnexpectedBlock)),
    ("tb-rsa1024-root", Some(Reason::WeakKey)),
    ("tb-v1-root", None),
    ("trunc-at-block-edge", None),
];

/// What cases promise beyond the words of the generator, in its words.
const PROMISES: [(&str, &str); 6] = [
    ("crl-expired", "peer_ok=verify peer_revoked=refuse"),
    ("crl-missing-for-intermediate", "peer_ok_chain=verify"),
    ("tb-negative-serial-among-good", "anchors=3 peer_b=verify"),
    ("tb-pathlen-violated", "peer_x_chain=refuse"),
    ("tb-rekeyed-root", "anchors=2 peer_old=verify peer_new=verify"),
    ("tb-v1-root", "anchors=1 peer_a=verify"),
];

/// The fewest cases that make a corpus: all, and those over 1 MiB among them.
const CASES: usize = 149;
const OVERSIZE: usize = 3;

#[test]
fn every_case_gets_its_verdict() {
    let corpus = Corpus::find();
    let mut cases: Vec<PathBuf> = fs::read_dir(corpus.path())
        .expect("a corpus")
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.join("expect.txt").is_file())
        .collect();
    cases.sort();
    let (mut table, mut differences) = (String::new(), 0);
    for case in &cases {
        let name = name(case);
        let expect = fs::read_to_string(case.join("expect.txt")).expect("expect.txt");
        let (got, problem) = run(case, &name, &expect);
        differences += usize::from(problem.is_some());
        let verdict = expect.split(" ;").next().unwrap_or_default();
        writeln!(table, "{name:34} {verdict:58} {got:24} {}", problem.unwrap_or_default()).expect("write");
    }
    let oversize = cases.iter().filter(|case| name(case).starts_with("oversize-")).count();
    let normal = cases.len() - oversize;
    println!("{table}{normal} cases and {oversize} over 1 MiB, {differences} differences");
    assert_eq!(differences, 0, "\n{table}");
    assert!(normal >= CASES && oversize >= OVERSIZE, "only {normal} cases and {oversize} over 1 MiB");
    for (policy, _) in POLICY {
        assert!(cases.iter().any(|case| name(case) == policy), "{policy} is no case any more");
    }
}

/// Where the cases are.
enum Corpus {
    Given(PathBuf),
    Made(tempfile::TempDir),
}

impl Corpus {
    fn find() -> Self {
        if let Some(given) = std::env::var_os("IRIS_MATERIALS") {
            return Self::Given(given.into());
        }
        let directory = tempfile::tempdir().expect("directory");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/materials/gen.sh");
        for size in [None, Some("--oversize")] {
            let run = Command::new("bash").arg(&script).args(size).arg(directory.path()).output();
            let run = run.expect("bash is needed to generate the corpus of odd materials");
            let said = String::from_utf8_lossy(&run.stderr);
            assert!(run.status.success(), "the corpus of odd materials cannot be generated: {said}");
        }
        Self::Made(directory)
    }

    fn path(&self) -> &Path {
        match self {
            Self::Given(path) => path,
            Self::Made(directory) => directory.path(),
        }
    }
}

fn name(case: &Path) -> String {
    case.file_name().expect("name").to_string_lossy().into_owned()
}

/// What a case gave, and what is wrong with that.
fn run(case: &Path, name: &str, expect: &str) -> (String, Option<String>) {
    let field = |key: &str| {
        let word = expect.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        word.unwrap_or_else(|| panic!("{name} has no {key}")).to_owned()
    };
    let (verdict, role, class) = (field("verdict"), field("role"), field("class"));
    let more = PROMISES.iter().find(|(case, _)| *case == name).map_or("", |(_, promises)| promises);
    let promises = format!("{expect} {more}");
    let outcome = match role.as_str() {
        "identity" => identity_of(case, name),
        "trust" => trust_of(case, "ca.crt").and_then(|bundle| judge_trust(case, &class, &promises, &bundle)),
        "crl" => crl_of(case).and_then(|(bundle, lists)| peers(case, &promises, bundle, Some(lists))),
        other => panic!("{name} has the role {other}"),
    };
    let got = match &outcome {
        Ok(Ok(())) => "accept".to_owned(),
        Ok(Err(problem)) => return ("accept".to_owned(), Some(problem.clone())),
        Err(fault) => fault.reason.as_str().to_owned(),
    };
    let decided = POLICY.iter().find(|(case, _)| *case == name).map(|(_, reason)| *reason);
    let right = match verdict.as_str() {
        "accept" => got == "accept",
        "reject" => got == class,
        // Two outcomes will do. The third, a part of the file taken for the whole, is looked for whatever is accepted.
        "either" => got == class || got == "accept",
        "policy" => decided.is_some_and(|decided| got == decided.map_or("accept", Reason::as_str)),
        other => panic!("{name} has the verdict {other}"),
    };
    (got, (!right).then(|| "DIFFERS".to_owned()))
}

/// When a case was generated, which is when it is judged: some begin or end minutes later.
fn made(case: &Path) -> SystemTime {
    fs::metadata(case.join("expect.txt")).and_then(|metadata| metadata.modified()).expect("a time")
}

type Outcome<T> = Result<T, Fault>;

fn identity_of(case: &Path, name: &str) -> Outcome<Result<(), String>> {
    const SERVER: Roles = Roles { server: true, client: false };
    const CLIENT: Roles = Roles { server: false, client: true };
    let identity = identity_for(case, SERVER);
    // What serves one role only is refused for the other.
    let as_client = identity_for(case, CLIENT).map(|_| ()).map_err(|fault| fault.reason);
    match name {
        "leaf-eku-client-only" if as_client != Ok(()) => return Ok(Err(format!("as a client: {as_client:?}"))),
        "leaf-eku-server-only" if as_client != Err(Reason::ExtKeyUsage) => {
            return Ok(Err(format!("as a client: {as_client:?}")));
        }
        _ => {}
    }
    let identity = identity?;
    let key = fs::read_to_string(case.join("tls.key")).expect("a key");
    if format!("{identity:?}").contains(key.lines().nth(1).unwrap_or("no second line")) {
        return Ok(Err("Debug shows key material".to_owned()));
    }
    let days = identity.facts.not_after.duration_since(made(case)).expect("valid").as_secs() / 86_400;
    if name == "chain-intermediate-expires-first" && days > 2 {
        return Ok(Err(format!("ends in {days} days, with its leaf")));
    }
    let served: HashSet<&[u8]> = identity.chain.iter().map(AsRef::as_ref).collect();
    Ok(whole(case, "tls.crt", served.len()))
}

fn identity_for(case: &Path, roles: Roles) -> Outcome<Identity> {
    let (certificate, key) = (case.join("tls.crt"), case.join("tls.key"));
    let snapshot = read::snapshot(&[&certificate, &key], quick())?;
    let files =
        IdentityFiles { certificate: (&certificate, &snapshot.files[0]), private_key: (&key, &snapshot.files[1]) };
    identity::build(files, Requirements { roles, ..Requirements::default() }, made(case))
}

fn trust_of(case: &Path, file: &str) -> Outcome<TrustBundle> {
    let snapshot = read::snapshot(&[&case.join(file)], quick())?;
    trust::build(&snapshot.files[0], made(case))
}

/// What became of a bundle between its files, and the peers under each of them.
fn judge_trust(case: &Path, class: &str, promises: &str, bundle: &TrustBundle) -> Outcome<Result<(), String>> {
    let before = if case.join("ca_before.crt").exists() { Some(trust_of(case, "ca_before.crt")?) } else { None };
    let after = if case.join("ca_after.crt").exists() { Some(trust_of(case, "ca_after.crt")?) } else { None };
    let shrank = match (&before, &after) {
        (Some(before), _) => before.contracts_to(bundle) || bundle.contracts_to(before),
        (None, Some(after)) => bundle.contracts_to(after),
        (None, None) => false,
    };
    if shrank != (class == "contraction") {
        return Ok(Err(if shrank { "a contraction" } else { "no contraction" }.to_owned()));
    }
    if case.join("ca_reversed.crt").exists()
        && let Err(problem) = peers(case, promises, trust_of(case, "ca_reversed.crt")?, None)?
    {
        return Ok(Err(format!("reversed: {problem}")));
    }
    // None of the bundles that are taken holds an anchor that has ended.
    if let Err(problem) = whole(case, "ca.crt", bundle.anchors.len()) {
        return Ok(Err(problem));
    }
    peers(case, promises, bundle.clone(), None)
}

fn crl_of(case: &Path) -> Outcome<(TrustBundle, RevocationLists)> {
    let bundle = trust_of(case, "ca.crt").expect("the bundles of these cases are good");
    let lists = lists_of(case, "crl.pem", &bundle, None)?;
    if case.join("crl_after.pem").exists() {
        lists_of(case, "crl_after.pem", &bundle, Some(&lists))?;
    }
    Ok((bundle, lists))
}

fn lists_of(
    case: &Path,
    file: &str,
    bundle: &TrustBundle,
    predecessor: Option<&RevocationLists>,
) -> Outcome<RevocationLists> {
    let snapshot = read::snapshot(&[&case.join(file)], quick())?;
    let policy = RevocationPolicy::default();
    revocation::build(&[&snapshot.files[0]], bundle, policy, predecessor, made(case)).map_err(|(_, fault)| fault)
}

/// Judges the peers that a case promises something about, and counts the anchors where it says how many.
fn peers(
    case: &Path,
    promises: &str,
    bundle: TrustBundle,
    lists: Option<RevocationLists>,
) -> Outcome<Result<(), String>> {
    let anchors = bundle.anchors.len();
    let read_at = made(case);
    let lists = lists.map(|value| Arc::new(Generation { sequence: 1, contractions: 0, value, read_at }));
    let authority =
        Authority::new("ca", Arc::new(Generation { sequence: 1, contractions: 0, value: bundle, read_at }), lists);
    let now = UnixTime::since_unix_epoch(made(case).duration_since(UNIX_EPOCH).expect("after 1970"));
    for (what, promise) in
        promises.split(|c: char| c.is_whitespace() || c == ';').filter_map(|word| word.split_once('='))
    {
        if what == "anchors" && promise != anchors.to_string() {
            return Ok(Err(format!("{anchors} anchors")));
        }
        let wanted = match promise {
            "verify" => true,
            "refuse" => false,
            _ => continue,
        };
        let chain = pem::read(&fs::read(case.join(format!("{what}.crt"))).expect("a peer")).expect("PEM");
        let chain: Vec<CertificateDer<'_>> = chain.into_iter().map(|block| block.content.into()).collect();
        let verdict = authority.verify(&chain[0], &chain[1..], Usage::Client, now);
        if verdict.is_ok() != wanted {
            return Ok(Err(format!("{what}: {verdict:?}")));
        }
    }
    Ok(Ok(()))
}

/// Whether what was taken is all that there is: `taken` distinct certificates, of a file that has as many. BEGIN lines are
/// counted by other means than the reader's.
fn whole(case: &Path, file: &str, taken: usize) -> Result<(), String> {
    let bytes = fs::read(case.join(file)).expect("read");
    let begins = bytes.windows(11).filter(|window| window == b"-----BEGIN ").count();
    let blocks = pem::read(&bytes).expect("it was taken");
    let certificates: HashSet<&[u8]> = blocks
        .iter()
        .filter(|block| block.label == pem::Label::Certificate)
        .map(|block| block.content.as_slice())
        .collect();
    if blocks.len() == begins && certificates.len() == taken {
        Ok(())
    } else {
        Err(format!("took {taken} certificates of {}, of {begins} BEGIN lines", certificates.len()))
    }
}

fn quick() -> ReadPolicy {
    ReadPolicy { pause: Duration::ZERO, attempts: 3 }
}
