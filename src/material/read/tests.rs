use std::os::unix::fs::symlink;

use super::*;

const QUICK: ReadPolicy = ReadPolicy { pause: Duration::from_millis(1), attempts: 4 };

/// A volume as kubelet lays it out: `..data` points to a generation, the files point through `..data`.
struct Volume(tempfile::TempDir);

impl Volume {
    fn new(generation: &str, certificate: &str, key: &str) -> Self {
        let volume = Self(tempfile::tempdir().expect("directory"));
        volume.generation(generation, certificate, key);
        symlink(generation, volume.path("..data")).expect("link");
        for name in ["tls.crt", "tls.key"] {
            symlink(Path::new("..data").join(name), volume.path(name)).expect("link");
        }
        volume
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn generation(&self, name: &str, certificate: &str, key: &str) {
        fs::create_dir(self.path(name)).expect("directory");
        fs::write(self.path(name).join("tls.crt"), certificate).expect("write");
        fs::write(self.path(name).join("tls.key"), key).expect("write");
    }

    fn swap(&self, generation: &str) {
        symlink(generation, self.path("..data_tmp")).expect("link");
        fs::rename(self.path("..data_tmp"), self.path("..data")).expect("rename");
    }

    fn read(&self) -> Result<Snapshot, Fault> {
        snapshot(&[&self.path("tls.crt"), &self.path("tls.key")], QUICK)
    }
}

#[test]
fn a_volume_is_read_through_its_link() {
    let volume = Volume::new("..one", "certificate 1", "key 1");
    let first = volume.read().expect("read");
    assert!(first.linked);
    assert_eq!(first.files, [b"certificate 1".to_vec(), b"key 1".to_vec()]);
    volume.generation("..two", "certificate 2", "key 2");
    volume.swap("..two");
    fs::remove_dir_all(volume.path("..one")).expect("remove");
    let second = volume.read().expect("read");
    assert_eq!(second.files, [b"certificate 2".to_vec(), b"key 2".to_vec()]);
    assert_ne!(first.digest(), second.digest());
}

#[test]
fn a_swap_between_two_files_mixes_no_generations() {
    let volume = Volume::new("..one", "certificate 1", "key 1");
    volume.generation("..two", "certificate 2", "key 2");
    let mut links = Links::default();
    let first = links.resolve(&volume.path("tls.crt")).expect("resolved");
    volume.swap("..two");
    let second = links.resolve(&volume.path("tls.key")).expect("resolved");
    assert_eq!(fs::read(first.path).expect("read"), b"certificate 1");
    assert_eq!(fs::read(second.path).expect("read"), b"key 1");
}

#[test]
fn files_in_a_linked_directory_and_below_links_above_it() {
    let root = tempfile::tempdir().expect("directory");
    fs::create_dir_all(root.path().join("releases/1")).expect("directory");
    fs::write(root.path().join("releases/1/ca.crt"), "ca").expect("write");
    symlink("releases/1", root.path().join("current")).expect("link");
    assert!(snapshot(&[&root.path().join("current/ca.crt")], QUICK).expect("read").linked);
    // A file that is a link to a file can be rewritten in place, as can one under a link far above.
    symlink("releases/1/ca.crt", root.path().join("ca.crt")).expect("link");
    assert!(!snapshot(&[&root.path().join("ca.crt")], QUICK).expect("read").linked);
    symlink(root.path(), root.path().join("var")).expect("link");
    assert!(!snapshot(&[&root.path().join("var/releases/1/ca.crt")], QUICK).expect("read").linked);
    symlink("../releases/../releases/1/ca.crt", root.path().join("releases/up.crt")).expect("link");
    assert_eq!(snapshot(&[&root.path().join("releases/up.crt")], QUICK).expect("read").files, [b"ca".to_vec()]);
}

#[test]
fn plain_files_are_read_until_two_reads_agree() {
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path().join("tls.crt");
    fs::write(&path, "whole").expect("write");
    let read = snapshot(&[&path], QUICK).expect("read");
    assert_eq!((read.files, read.linked), (vec![b"whole".to_vec()], false));
}

#[test]
fn plain_files_that_never_rest_are_unstable_and_those_that_come_to_rest_are_read() {
    let plain = |content: u8| Ok(Snapshot { files: vec![vec![content]], linked: false });
    let mut count = 0;
    let mut read = settle(QUICK, || {
        count += 1;
        vec![plain(count)]
    });
    assert_eq!((read.remove(0).expect_err("unstable").reason, count), (Reason::Unstable, 4));
    let mut reads = [1, 2, 2, 3].into_iter();
    assert_eq!(settle(QUICK, || vec![plain(reads.next().expect("no more reads"))]), [plain(2)]);
    assert_eq!(reads.next(), Some(3));
}

#[test]
fn a_file_that_is_missing_for_a_moment_is_waited_for() {
    let missing = || Err(Fault::new(Reason::MissingFile, "no such file"));
    let found = || Ok(Snapshot { files: vec![vec![1]], linked: true });
    let mut reads = [missing(), found()].into_iter();
    assert_eq!(settle(QUICK, || vec![reads.next().expect("no more reads")]), [found()]);
    let mut reads = [missing(), missing()].into_iter();
    assert_eq!(settle(QUICK, || vec![reads.next().expect("no more reads")]), [missing()]);
}

#[test]
fn one_that_meets_a_swap_has_its_neighbour_read_again() {
    let linked = |content: u8| Ok(Snapshot { files: vec![vec![content]], linked: true });
    let missing = || Err(Fault::new(Reason::MissingFile, "no such file"));
    let mut reads = [vec![linked(1), missing()], vec![linked(2), linked(2)]].into_iter();
    assert_eq!(settle(QUICK, || reads.next().expect("no more reads")), [linked(2), linked(2)]);
}

#[test]
fn materials_of_one_volume_are_of_one_generation_and_their_places_are_known() {
    let volume = Volume::new("..one", "certificate 1", "key 1");
    let (certificate, key, other) = (volume.path("tls.crt"), volume.path("tls.key"), volume.path("none/ca.crt"));
    let reading = snapshots(&[vec![&certificate], vec![&key], vec![&other]], QUICK);
    assert_eq!(reading.outcomes[1].as_ref().expect("read").files, [b"key 1".to_vec()]);
    assert_eq!(reading.outcomes[2].as_ref().expect_err("missing").reason, Reason::MissingFile);
    let root = fs::canonicalize(volume.0.path()).expect("a path");
    assert_eq!(reading.places, BTreeSet::from([root.join("..one"), root]));
}

#[test]
fn what_is_no_file_of_a_sensible_size_is_named() {
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path().join("tls.crt");
    let reason = |path: &Path| snapshot(&[path], QUICK).expect_err("refused").reason;
    assert_eq!(reason(&path), Reason::MissingFile);
    assert_eq!(reason(directory.path()), Reason::NotAFile);
    fs::write(&path, vec![b'#'; 1024 * 1024]).expect("write");
    assert!(snapshot(&[&path], QUICK).is_ok());
    fs::write(&path, vec![b'#'; 1024 * 1024 + 1]).expect("write");
    assert_eq!(reason(&path), Reason::FileTooLarge);
    assert_eq!(reason(&path.join("below")), Reason::NotAFile);
    symlink("a", directory.path().join("b")).expect("link");
    symlink("b", directory.path().join("a")).expect("link");
    assert_eq!(reason(&directory.path().join("a")), Reason::Unreadable);
    let _socket = std::os::unix::net::UnixListener::bind(directory.path().join("socket")).expect("bind");
    assert_eq!(reason(&directory.path().join("socket")), Reason::NotAFile);
}

#[test]
fn the_file_at_fault_is_named() {
    let volume = Volume::new("..one", "certificate", "key");
    fs::remove_file(volume.path("..one/tls.key")).expect("remove");
    assert_eq!(volume.read().expect_err("missing").file, Some(volume.path("tls.key")));
}
