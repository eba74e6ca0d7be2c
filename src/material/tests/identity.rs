use std::{path::Path, sync::Arc, time::SystemTime};

use rcgen::{ExtendedKeyUsagePurpose, KeyUsagePurpose};

use crate::{
    material::{
        Authority, Generation, Identity, Reason, Warning,
        identity::{IdentityFiles, Requirements, build},
        reason::Fault,
        roles::Roles,
        testing::{Ca, Leaf, block, leaf_params, uri, validity},
        trust,
    },
    plan::DnsPattern,
};

const SERVER: Roles = Roles { server: true, client: false };
const CLIENT: Roles = Roles { server: false, client: true };

fn read(chain: &str, key: &str, requirements: Requirements<'_>) -> Result<Identity, Fault> {
    let (certificate, private_key) = (Path::new("tls.crt"), Path::new("tls.key"));
    let files =
        IdentityFiles { certificate: (certificate, chain.as_bytes()), private_key: (private_key, key.as_bytes()) };
    build(files, requirements, SystemTime::now())
}

fn of(leaf: &Leaf) -> Result<Identity, Fault> {
    read(&leaf.chain, &leaf.key, Requirements { roles: SERVER, ..Requirements::default() })
}

fn reason(leaf: &Leaf) -> Reason {
    of(leaf).expect_err("refused").reason
}

/// A root, an intermediate below it, one below that, and a leaf.
fn tower() -> (Ca, Ca, Ca, Leaf) {
    let root = Ca::new("root");
    let upper = root.intermediate("upper");
    let lower = upper.intermediate("lower");
    let leaf = lower.leaf(&["a.example"]);
    (root, upper, lower, leaf)
}

/// Names that break off are not alike because their beginnings are: what bears them is no root.
#[test]
fn a_name_that_breaks_off_makes_no_root() {
    let (_, upper, lower, leaf) = tower();
    let mut root = Ca::new("damaged").certificate.der().to_vec();
    // The relative name of issuer and subject (a SET, 11 octets before its text) is longer than there is room for.
    let text: &[u8] = b"damaged";
    let names: Vec<_> = (11..root.len()).filter(|at| root[*at..].starts_with(text)).map(|at| at - 11).collect();
    assert_eq!((names.len(), root[names[0]], root[names[1]]), (2, 0x31, 0x31));
    for at in &names {
        root[at + 1] = 0x7f;
    }
    root[names[1] + 8] ^= 1;
    let chain = leaf.chain.clone() + &lower.pem() + &upper.pem() + &block("CERTIFICATE", &root);
    let fault = read(&chain, &leaf.key, Requirements::default()).expect_err("refused");
    assert!(matches!(fault.reason, Reason::BadDer | Reason::ChainBroken), "{fault:?}");
}

#[test]
fn a_chain_is_put_in_order_and_served_whole() {
    let (root, upper, lower, leaf) = tower();
    let with = |rest: &[&Ca]| {
        let chain = rest.iter().fold(leaf.chain.clone(), |chain, ca| chain + &ca.pem());
        read(&chain, &leaf.key, Requirements::default())
    };
    let ders = |cas: &[&Ca]| -> Vec<_> {
        std::iter::once(leaf.der.clone()).chain(cas.iter().map(|ca| ca.certificate.der().clone())).collect()
    };
    let straight = with(&[&lower, &upper]).expect("good");
    assert_eq!((straight.chain, straight.warnings), (ders(&[&lower, &upper]), vec![]));
    let shuffled = with(&[&upper, &lower]).expect("good");
    assert_eq!((shuffled.chain, shuffled.warnings), (ders(&[&lower, &upper]), vec![Warning::ChainReordered]));
    assert_eq!(with(&[&lower, &upper, &root]).expect("good").warnings, []);
    assert_eq!(with(&[&lower, &upper, &lower]).expect("good").warnings, [Warning::ChainExtra]);
    let strange = with(&[&lower, &upper, &Ca::new("other")]).expect("good");
    assert_eq!((strange.chain.len(), strange.warnings), (4, vec![Warning::ChainExtra]));
    assert_eq!(with(&[]).expect("good").warnings, [Warning::IncompleteChain]);
    assert_eq!(with(&[&upper]).expect_err("a gap").reason, Reason::ChainBroken);
    assert_eq!(with(&[&lower, &upper.intermediate("other")]).expect_err("a stranger").reason, Reason::ChainBroken);
    assert_eq!(with(&[&Ca::new("lower")]).expect_err("another key").reason, Reason::ChainBroken);
}

#[test]
fn those_behind_the_leaf_may_sign_for_its_roles() {
    let root = Ca::new("root");
    let reason = |change: &dyn Fn(&mut rcgen::CertificateParams)| {
        let mut params = crate::material::testing::ca_params("below");
        change(&mut params);
        let below = root.intermediate_of(params);
        let leaf = below.leaf(&["a.example"]);
        read(&(leaf.chain + &below.pem()), &leaf.key, Requirements { roles: SERVER, ..Requirements::default() })
            .map(|_| ())
            .map_err(|fault| fault.reason)
    };
    use ExtendedKeyUsagePurpose::{ClientAuth, ServerAuth};
    assert_eq!(reason(&|_| {}), Ok(()));
    assert_eq!(reason(&|params| params.extended_key_usages = vec![ServerAuth]), Ok(()));
    assert_eq!(reason(&|params| params.extended_key_usages = vec![ClientAuth]), Err(Reason::ExtKeyUsage));
    assert_eq!(reason(&|params| params.key_usages = vec![KeyUsagePurpose::CrlSign]), Err(Reason::KeyUsage));
    assert_eq!(reason(&|params| params.is_ca = rcgen::IsCa::NoCa), Err(Reason::NotACa));
    let mut params = crate::material::testing::ca_params("upper");
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Constrained(0));
    let upper = root.intermediate_of(params);
    let lower = upper.intermediate("lower");
    let leaf = lower.leaf(&["a.example"]);
    let fault = read(&(leaf.chain + &lower.pem() + &upper.pem()), &leaf.key, Requirements::default());
    assert_eq!(fault.expect_err("too deep").reason, Reason::ChainBroken);
}

#[test]
fn the_validity_told_is_that_of_the_whole_chain() {
    let root = Ca::new("root");
    let leaf = root.leaf(&["a.example"]);
    let mut params = crate::material::testing::ca_params("root");
    (params.not_before, params.not_after) = validity(-2, 2);
    // A root appended to the chain counts as well: what is served must be valid.
    let short = Ca::of(params);
    let own = of(&leaf).expect("good").facts;
    let under = short.leaf(&["a.example"]);
    let chain = under.chain.clone() + &short.pem();
    let narrowed = read(&chain, &under.key, Requirements::default()).expect("good").facts;
    assert!(narrowed.not_after < own.not_after);
    assert_eq!(narrowed.names.dns, ["a.example"]);
}

#[test]
fn a_key_of_another_certificate_is_a_mismatch_and_an_order_is_hinted_at() {
    let (_, upper, lower, leaf) = tower();
    let other = lower.leaf(&["a.example"]);
    let fault = read(&leaf.chain, &other.key, Requirements::default()).expect_err("torn");
    assert_eq!((fault.reason, fault.file.as_deref()), (Reason::KeyMismatch, Some(Path::new("tls.key"))));
    let reversed = upper.pem() + &leaf.chain;
    let fault = read(&reversed, &leaf.key, Requirements::default()).expect_err("leaf not first");
    assert_eq!(fault.reason, Reason::KeyMismatch);
    assert!(fault.detail.contains("certificate 2"), "{}", fault.detail);
}

#[test]
fn usage_fits_the_roles() {
    let ca = Ca::new("root");
    let with = |usages: &[ExtendedKeyUsagePurpose], roles: Roles| {
        let mut params = leaf_params(&["a.example"]);
        params.extended_key_usages = usages.to_vec();
        let leaf = ca.issue(params);
        read(&leaf.chain, &leaf.key, Requirements { roles, ..Requirements::default() })
            .map(|_| ())
            .map_err(|fault| fault.reason)
    };
    use ExtendedKeyUsagePurpose::{Any, ClientAuth, ServerAuth};
    let both = Roles { server: true, client: true };
    for (usages, roles, good) in [
        (&[ServerAuth][..], SERVER, true),
        (&[ServerAuth], CLIENT, false),
        (&[ServerAuth], both, false),
        (&[ClientAuth], CLIENT, true),
        (&[ClientAuth], SERVER, false),
        (&[ServerAuth, ClientAuth], both, true),
        (&[], both, true),
        (&[Any], SERVER, false),
    ] {
        let expected = if good { Ok(()) } else { Err(Reason::ExtKeyUsage) };
        assert_eq!(with(usages, roles), expected, "{usages:?} {roles:?}");
    }
}

#[test]
fn leaves_that_peers_would_refuse() {
    let ca = Ca::new("root");
    let mut params = leaf_params(&[]);
    assert_eq!(reason(&ca.issue(params.clone())), Reason::NoSan);
    params.subject_alt_names = vec![uri("spiffe://prod/worker")];
    assert!(of(&ca.issue(params.clone())).is_ok());
    params.key_usages = vec![KeyUsagePurpose::KeyAgreement];
    assert_eq!(reason(&ca.issue(params)), Reason::KeyUsage);
    let mut params = leaf_params(&["a.example"]);
    (params.not_before, params.not_after) = validity(-9, -1);
    assert_eq!(reason(&ca.issue(params.clone())), Reason::Expired);
    (params.not_before, params.not_after) = validity(1, 9);
    let early = of(&ca.issue(params)).expect_err("early");
    assert_eq!(early.reason, Reason::NotYetValid);
    assert!(early.starts.is_some_and(|starts| starts > SystemTime::now()));
    let mut params = leaf_params(&["a.example"]);
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    assert_eq!(reason(&ca.issue(params)), Reason::CaAsLeaf);
}

#[test]
fn expectations_hold() {
    let (root, upper, lower, leaf) = tower();
    let authority = |ca: &Ca| {
        let value = trust::build(ca.pem().as_bytes(), SystemTime::now()).expect("good");
        Authority::new(
            "workers",
            Arc::new(Generation { sequence: 1, contractions: 0, value, read_at: SystemTime::now() }),
            None,
        )
    };
    let chain = leaf.chain.clone() + &lower.pem() + &upper.pem();
    let read = |requirements| read(&chain, &leaf.key, requirements).map(|_| ()).map_err(|fault| fault.reason);
    let names = |text: &str| vec![DnsPattern::parse(text).expect("a pattern")];
    let (good, other) = (names("a.example"), names("b.example"));
    let wanted = |names| Requirements { roles: SERVER, names, chains_to: None };
    assert_eq!(read(wanted(&good)), Ok(()));
    assert_eq!(read(wanted(&other)), Err(Reason::NameNotCovered));
    let (right, wrong) = (authority(&root), authority(&Ca::new("root")));
    let chains_to = |chains_to| Requirements { roles: SERVER, names: &[], chains_to: Some(chains_to) };
    assert_eq!(read(chains_to(Some(&right))), Ok(()));
    assert_eq!(read(chains_to(Some(&wrong))), Err(Reason::WrongIssuer));
    assert_eq!(read(chains_to(None)), Err(Reason::TrustUnavailable));
}

#[test]
fn nothing_shows_the_key() {
    let leaf = Ca::new("root").leaf(&["a.example"]);
    let identity = of(&leaf).expect("good");
    let generation = Generation { sequence: 1, contractions: 0, value: identity.clone(), read_at: SystemTime::now() };
    let shown = format!("{identity:?}{:#?}{:?}", generation, identity.certified);
    for line in leaf.key.lines().filter(|line| !line.starts_with('-')) {
        assert!(!shown.contains(line), "{shown}");
    }
    // The secret of a P-256 key in PKCS#8 as bytes or in hexadecimal.
    let der = crate::material::pem::read(leaf.key.as_bytes()).expect("PEM")[0].content.clone();
    let secret = &der[36..68];
    let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let bytes = format!("{secret:?}");
    assert!(!shown.contains(&hex) && !shown.contains(bytes.trim_matches(['[', ']'])), "{shown}");
}
