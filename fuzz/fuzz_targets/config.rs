//! Any bytes as a configuration file: a plan or problems, never a panic, and no problem without its words.
#![no_main]

use iris::{config, plan};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let document = config::parse(bytes);
    match plan::compile(&document) {
        Ok(_) => assert!(document.problems.is_empty()),
        Err(problems) => {
            assert!(problems.len() >= document.problems.len().max(1));
            for problem in &problems {
                assert!(!problem.message.is_empty() && !problem.expected.is_empty());
                let said = problem.to_string();
                assert!(!said.contains(['\n', '\r', '\0']), "{said:?} is more than a line");
            }
        }
    }
});
