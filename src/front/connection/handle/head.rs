//! The head of a response, which may be withheld until its body begins (B-24).

use std::cell::{Cell, RefCell};

/// The maximum length of a withheld head in bytes. Heads of this server are shorter; a longer one is written
/// immediately.
const WITHHELD: usize = 1024;
/// The bytes that end a head.
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// The response head, which may be withheld until the body begins.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) withhold: Cell<bool>,
    pub(super) withheld: RefCell<Vec<u8>>,
}

impl Head {
    /// Keeps the written bytes if they are exactly one head. Bytes with anything after the head are written at once,
    /// because the response to a pipelined request must not wait.
    pub(super) fn takes(&self, written: &[u8]) -> bool {
        if !self.withhold.take() {
            return false;
        }
        let end = end_of_head(written);
        let alone = end == Some(written.len()) && written.len() <= WITHHELD;
        if alone {
            *self.withheld.borrow_mut() = written.to_vec();
        }
        alone
    }

    pub(super) fn say_close(&self) {
        let mut withheld = self.withheld.borrow_mut();
        if let Some(lines) = withheld.strip_suffix(END_OF_HEAD) {
            let line: &[u8] = b"\r\nconnection: close";
            if !lines.windows(line.len()).any(|window| window == line) {
                *withheld = [lines, line, END_OF_HEAD].concat();
            }
        }
    }
}

fn end_of_head(written: &[u8]) -> Option<usize> {
    let end = written.windows(END_OF_HEAD.len()).position(|window| window == END_OF_HEAD)?;
    Some(end + END_OF_HEAD.len())
}
