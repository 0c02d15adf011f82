//! Comments have no examples in Rust. No crate runs them, because a look for them takes seconds and there are none; the
//! tests of a module show how it is used.

use crate::tree::{Violation, files};

/// The kinds of blocks that would not run.
const KINDS: [&str; 2] = ["text", "sh"];

pub(crate) fn violations() -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in files(".rs") {
        let mut in_block = false;
        for (number, line) in file.text.lines().enumerate() {
            let line = line.trim_start();
            let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
            let Some(kind) = comment.and_then(|text| text.trim_start().strip_prefix("```")) else { continue };
            if !in_block && !KINDS.contains(&kind.trim()) {
                let text = "nothing runs this example; write a test, or begin the block with ```text";
                violations.push(Violation::new(&file.path, number + 1, text));
            }
            in_block = !in_block;
        }
    }
    violations
}
