//! Files stay small enough to hold one idea.

use super::{breach, source::SourceFile};

/// Lines without tests that no file exceeds. More than 300 is a sign already.
pub(super) const WALL: usize = 400;

/// A median above this means that the house as a whole has grown dense.
pub(super) const CALM_MEDIAN: usize = 200;

/// Files over the wall.
pub(super) fn too_long(files: &[SourceFile], wall: usize) -> Vec<String> {
    let measured = files.iter().filter(|f| !f.is_test()).map(|f| (f, lines(f)));
    measured
        .filter(|(_, n)| *n > wall)
        .map(|(f, n)| breach(&f.path, format_args!("{n} lines, {wall} at most")))
        .collect()
}

/// The median of the lengths.
pub(super) fn median(files: &[SourceFile]) -> usize {
    let mut all: Vec<usize> = files.iter().filter(|f| !f.is_test()).map(lines).collect();
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or(0)
}

/// The longest file and its length.
pub(super) fn longest(files: &[SourceFile]) -> Option<(usize, &str)> {
    files.iter().filter(|f| !f.is_test()).map(|f| (lines(f), f.path.as_str())).max()
}

/// Lines of a file that are neither tests nor blank at its end. Comments count: they have to be read as well.
fn lines(file: &SourceFile) -> usize {
    // Comments are blanked, not removed, so the lines of what remains are the lines of the file without its tests.
    let code = file.code();
    let tests = file.text.lines().count().saturating_sub(code.lines().count());
    file.text.trim_end().lines().count() - tests.min(file.text.trim_end().lines().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, code: usize, tests: usize) -> SourceFile {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "    fn f() {}\n".repeat(tests));
        SourceFile::new(path, &format!("{}{tests}", "fn f() {}\n".repeat(code)))
    }

    #[test]
    fn a_long_file_is_found_and_tests_do_not_count() {
        assert_eq!(too_long(&[file("src/a.rs", 401, 0)], WALL).len(), 1);
        assert!(too_long(&[file("src/a.rs", 395, 500)], WALL).is_empty());
        assert!(too_long(&[file("src/a/tests.rs", 900, 0)], WALL).is_empty());
        let comments = SourceFile::new("src/a.rs", &"// a line\n".repeat(401));
        assert_eq!(too_long(&[comments], WALL).len(), 1);
    }

    #[test]
    fn the_median_is_of_files() {
        let files = [file("a.rs", 10, 0), file("b.rs", 20, 0), file("c.rs", 300, 0)];
        assert!((20..23).contains(&median(&files)), "{}", median(&files));
        assert_eq!(longest(&files).map(|(_, path)| path), Some("c.rs"));
    }
}
