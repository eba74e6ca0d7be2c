//! The corpus of odd materials (`gen.sh`, which needs openssl and xxd): every case gets the verdict of its `expect.txt`.
//! Runs where `IRIS_MATERIALS` names the generated directory, as `.ci/run` does.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use rustls::pki_types::UnixTime;

use crate::material::{
    Authority, Generation, Reason, RevocationLists, TrustBundle, Usage,
    identity::{self, IdentityFiles, Requirements},
    pem,
    read::{self, ReadPolicy},
    reason::Fault,
    revocation,
    roles::Roles,
    trust,
};

/// Where the corpus leaves it to policy (`contract.md` D): what was decided. `None`: accepted.
const POLICY: [(&str, Option<Reason>); 23] = [
    ("chain-missing-intermediate", None),
    ("crl-expired", None),
    ("crl-missing-for-intermediate", None),
    ("crl-not-yet", Some(Reason::CrlNotYet)),
    // The file by itself is good; that it follows a newer one is a matter of reloading.
    ("crl-rollback", None),
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
    ("trunc-at-block-edge", None),
];
/// Decided apart: accepted with a warning.
const VERSION_ONE_ROOT: &str = "tb-v1-root";

#[test]
fn every_case_gets_its_verdict() {
    let Some(corpus) = std::env::var_os("IRIS_MATERIALS").map(PathBuf::from) else { return };
    let mut cases: Vec<PathBuf> = fs::read_dir(&corpus)
        .expect("a corpus")
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.join("expect.txt").is_file())
        .collect();
    cases.sort();
    let (mut table, mut differences) = (String::new(), 0);
    for case in &cases {
        let name = case.file_name().expect("name").to_string_lossy();
        let expect = fs::read_to_string(case.join("expect.txt")).expect("expect.txt");
        let (got, problem) = run(case, &name, &expect);
        differences += usize::from(problem.is_some());
        let verdict = expect.split(" ;").next().unwrap_or_default();
        writeln!(table, "{name:34} {verdict:58} {got:24} {}", problem.unwrap_or_default()).expect("write");
    }
    println!("{table}{} cases, {differences} differences", cases.len());
    assert_eq!(differences, 0, "\n{table}");
    assert!(cases.len() >= 149 || std::env::var_os("IRIS_MATERIALS_PARTIAL").is_some(), "{} cases", cases.len());
}

/// What a case gave, and what is wrong with that.
fn run(case: &Path, name: &str, expect: &str) -> (String, Option<String>) {
    let field = |key: &str| {
        let word = expect.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        word.unwrap_or_else(|| panic!("{name} has no {key}")).to_owned()
    };
    let (verdict, role, class) = (field("verdict"), field("role"), field("class"));
    let outcome = match role.as_str() {
        "identity" => identity_of(case),
        "trust" => trust_of(case, "ca.crt").and_then(|bundle| peers(case, expect, bundle, None)),
        "crl" => crl_of(case).and_then(|(bundle, lists)| peers(case, expect, bundle, Some(lists))),
        other => panic!("{name} has the role {other}"),
    };
    let got = match &outcome {
        Ok(Ok(())) => "accept".to_owned(),
        Ok(Err(problem)) => return ("accept".to_owned(), Some(problem.clone())),
        Err(fault) => fault.reason.as_str().to_owned(),
    };
    let decided = POLICY.iter().find(|(case, _)| *case == name).map(|(_, reason)| *reason);
    let decided = decided.or((name == VERSION_ONE_ROOT).then_some(None));
    let right = match verdict.as_str() {
        "accept" => got == "accept",
        "reject" => got == class,
        // Two outcomes will do; the third, a part of the file, would be an accepted one with too few certificates.
        "either" => got == class || (got == "accept" && whole(case, &role)),
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

fn identity_of(case: &Path) -> Outcome<Result<(), String>> {
    let (certificate, key) = (case.join("tls.crt"), case.join("tls.key"));
    let snapshot = read::snapshot(&[&certificate, &key], quick())?;
    let files =
        IdentityFiles { certificate: (&certificate, &snapshot.files[0]), private_key: (&key, &snapshot.files[1]) };
    let roles = Roles { server: true, client: false };
    let identity = identity::build(files, Requirements { roles, ..Requirements::default() }, made(case))?;
    let key = String::from_utf8_lossy(&snapshot.files[1]).into_owned();
    Ok(match format!("{identity:?}").contains(key.lines().nth(1).unwrap_or("no second line")) {
        true => Err("Debug shows key material".to_owned()),
        false => Ok(()),
    })
}

fn trust_of(case: &Path, file: &str) -> Outcome<TrustBundle> {
    let snapshot = read::snapshot(&[&case.join(file)], quick())?;
    trust::build(&snapshot.files[0], made(case))
}

fn crl_of(case: &Path) -> Outcome<(TrustBundle, RevocationLists)> {
    let bundle = trust_of(case, "ca.crt").expect("the bundles of these cases are good");
    let snapshot = read::snapshot(&[&case.join("crl.pem")], quick())?;
    let lists = revocation::build(&[&snapshot.files[0]], &bundle, made(case)).map_err(|(_, fault)| fault)?;
    Ok((bundle, lists))
}

/// Judges the peers that a case promises something about, and counts the anchors where it says how many.
fn peers(
    case: &Path,
    expect: &str,
    bundle: TrustBundle,
    lists: Option<RevocationLists>,
) -> Outcome<Result<(), String>> {
    for other in ["ca_before.crt", "ca_after.crt", "ca_reversed.crt"] {
        if case.join(other).exists() {
            trust_of(case, other)?;
        }
    }
    let anchors = bundle.anchors.len();
    let read_at = made(case);
    let lists = lists.map(|value| Arc::new(Generation { sequence: 1, contractions: 0, value, read_at }));
    let authority =
        Authority::new("ca", Arc::new(Generation { sequence: 1, contractions: 0, value: bundle, read_at }), lists);
    let promises = expect.split(|c: char| c.is_whitespace() || c == ';').filter_map(|word| word.split_once('='));
    for (what, promise) in promises {
        if what == "anchors" && promise != anchors.to_string() {
            return Ok(Err(format!("{anchors} anchors")));
        }
        let wanted = match promise {
            "verify" => true,
            "refuse" => false,
            _ => continue,
        };
        let chain = pem::read(&fs::read(case.join(format!("{what}.crt"))).expect("a peer")).expect("PEM");
        let chain: Vec<_> = chain.into_iter().map(|block| block.content.into()).collect();
        let verdict = authority.verify(
            &chain[0],
            &chain[1..],
            Usage::Client,
            UnixTime::since_unix_epoch(made(case).duration_since(UNIX_EPOCH).expect("after 1970")),
        );
        if verdict.is_ok() != wanted {
            return Ok(Err(format!("{what}: {verdict:?}")));
        }
    }
    Ok(Ok(()))
}

/// Whether as many certificates were taken as the file has BEGIN lines.
fn whole(case: &Path, role: &str) -> bool {
    let file = match role {
        "identity" => "tls.crt",
        "trust" => "ca.crt",
        _ => "crl.pem",
    };
    let bytes = fs::read(case.join(file)).expect("read");
    let begins = bytes.windows(11).filter(|window| window == b"-----BEGIN ").count();
    pem::read(&bytes).is_ok_and(|blocks| blocks.len() == begins)
}

fn quick() -> ReadPolicy {
    ReadPolicy { pause: std::time::Duration::ZERO, attempts: 3 }
}
