//! Follows the boundaries of requests on their way to actix-http, which does not report them.
//!
//! actix-http has some quirks that this module hides. It executes bytes after the last request of a connection (RFC
//! 9112, 9.6), it closes the connection without a response at an invalid chunk, it closes it behind an offer of an
//! upgrade that nobody takes, and its responses to heads that it cannot use have no body. This module follows the
//! requests with the parsing rules of actix-http. Bytes pass unchanged, with these exceptions: nothing passes after a
//! request that closes the connection; an invalid byte within a chunk and everything after it do not pass; an offer of
//! an upgrade passes only to paths that take upgrades (C-21); and a request whose head cannot be used is replaced by
//! one to [`REPLACED`], so that its response is made like every other (E-01a).

mod chunks;
mod flaw;
mod head;
mod upgrade;

use chunks::{Chunks, Followed};
pub use flaw::{Flaw, HEAD_BYTES, HEADERS, TARGET_BYTES};
use head::{ParsedHead, parse_head};

/// The path of the request that replaces one whose head cannot be used.
pub const REPLACED: &str = "/%replaced";

/// The state of the requests of a connection.
#[derive(Debug)]
pub(super) struct Requests {
    position: Position,
    /// The bytes of an incomplete head. They pass when the head is complete.
    incomplete_head: Vec<u8>,
    takes_upgrades: fn(&str) -> bool,
    flaw: Option<Flaw>,
    /// Whether a request has begun since [`begun`](Self::begun) was called, and whether it has a body.
    begun: Option<bool>,
}

/// The position of the next byte within a request.
#[derive(Debug)]
enum Position {
    Head,
    /// The byte is within a body with a length; `left` is the number of bytes that remain.
    Body {
        left: u64,
        is_last: bool,
    },
    Chunks {
        chunks: Chunks,
        is_last: bool,
    },
    /// The byte comes after the requests, within an upgraded connection.
    Beyond,
    /// The byte comes after the last request.
    End,
    /// The byte comes after an invalid one within a chunk.
    Broken,
    /// The byte comes after a head that cannot be used, or after its beginning.
    Refused,
}

/// The bytes that pass instead of the received ones.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Passing {
    /// This number of bytes from the beginning.
    First(usize),
    /// These bytes replace the received ones.
    Instead(Vec<u8>),
}

/// The bytes that pass, with the replaced ones so far.
struct Pass {
    /// The bytes that pass, up to the received byte `copied`; `None` as long as none is replaced.
    instead: Option<Vec<u8>>,
    copied: usize,
}

impl Pass {
    /// Replaces the bytes from `at` to `end`.
    fn replace(&mut self, bytes: &[u8], at: usize, end: usize, by: &[u8]) {
        let instead = self.instead.get_or_insert_default();
        instead.extend_from_slice(&bytes[self.copied..at]);
        instead.extend_from_slice(by);
        self.copied = end;
    }

    fn up_to(self, bytes: &[u8], end: usize) -> Passing {
        match self.instead {
            None => Passing::First(end),
            Some(mut instead) => {
                instead.extend_from_slice(bytes.get(self.copied..end).unwrap_or_default());
                Passing::Instead(instead)
            }
        }
    }
}

impl Requests {
    /// Creates the state of a new connection. `takes_upgrades` returns whether a target can be upgraded to a WebSocket.
    pub(super) fn new(takes_upgrades: fn(&str) -> bool) -> Self {
        Self {
            position: Position::Head,
            incomplete_head: Vec::new(),
            takes_upgrades,
            flaw: None,
            begun: None,
        }
    }

    /// Returns whether the body of a request was broken. The bytes after it are not part of the body, and the start of
    /// the next request is unknown.
    pub(super) fn are_broken(&self) -> bool {
        matches!(self.position, Position::Broken)
    }

    /// Returns whether a part of a head has arrived.
    pub(super) fn are_in_head(&self) -> bool {
        !self.incomplete_head.is_empty()
    }

    /// Returns whether the client has not yet sent all of what it began to send.
    pub(super) fn are_incomplete(&self) -> bool {
        match self.position {
            Position::Body { .. } | Position::Chunks { .. } | Position::Broken | Position::Refused => true,
            Position::Head => self.are_in_head(),
            Position::Beyond | Position::End => false,
        }
    }

    /// Returns whether the client is within a chunked body. actix-http reads the rest of such a body itself.
    pub(super) fn are_in_chunks(&self) -> bool {
        matches!(self.position, Position::Chunks { .. })
    }

    /// Returns whether the last request has a body, if one has begun since the last call.
    pub(super) fn begun(&mut self) -> Option<bool> {
        self.begun.take()
    }

    /// Returns the flaw of the request that was replaced.
    pub(super) fn flaw(&self) -> Option<Flaw> {
        self.flaw
    }

    /// Returns the request that replaces one that cannot be used. Nothing passes after it.
    pub(super) fn refuse(&mut self, flaw: Flaw) -> Vec<u8> {
        self.position = Position::Refused;
        self.flaw = Some(flaw);
        self.incomplete_head = Vec::new();
        format!("GET {REPLACED} HTTP/1.1\r\nhost:\r\nconnection: close\r\n\r\n").into()
    }

    /// Follows bytes that are discarded. Returns whether the request that they belong to goes on.
    pub(super) fn skip(&mut self, bytes: &[u8]) -> bool {
        match &mut self.position {
            Position::Body { left, .. } => {
                *left = left.saturating_sub(bytes.len() as u64);
                *left > 0
            }
            Position::Chunks { chunks, .. } => !matches!(chunks.follow(bytes), Followed::To(_)),
            _ => true,
        }
    }

    /// Returns the bytes that pass for these received bytes.
    pub(super) fn follow(&mut self, bytes: &[u8]) -> Passing {
        if self.incomplete_head.is_empty() {
            return self.pass(bytes);
        }
        let mut both = std::mem::take(&mut self.incomplete_head);
        both.extend_from_slice(bytes);
        match self.pass(&both) {
            Passing::First(count) => {
                both.truncate(count);
                Passing::Instead(both)
            }
            instead => instead,
        }
    }

    fn pass(&mut self, bytes: &[u8]) -> Passing {
        let (mut at, mut pass) = (0, Pass { instead: None, copied: 0 });
        while at < bytes.len() {
            let rest = &bytes[at..];
            match &mut self.position {
                Position::Beyond => at = bytes.len(),
                Position::End | Position::Broken | Position::Refused => break,
                Position::Body { left, is_last } => {
                    let passing = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    (*left, at) = (*left - passing as u64, at + passing);
                    if *left == 0 {
                        self.position = Position::after_request(*is_last);
                    }
                }
                Position::Chunks { chunks, is_last } => match chunks.follow(rest) {
                    Followed::Within => at = bytes.len(),
                    Followed::To(end) => (self.position, at) = (Position::after_request(*is_last), at + end),
                    Followed::Broken(end) => (self.position, at) = (Position::Broken, at + end),
                },
                Position::Head => match parse_head(rest, self.takes_upgrades) {
                    ParsedHead::Incomplete => {
                        self.incomplete_head = rest.to_vec();
                        break;
                    }
                    ParsedHead::Flawed(flaw) => {
                        let request = self.refuse(flaw);
                        pass.replace(bytes, at, bytes.len(), &request);
                        at = bytes.len();
                    }
                    ParsedHead::Complete { length, after, instead } => {
                        instead.iter().for_each(|head| pass.replace(bytes, at, at + length, head));
                        let has_body = matches!(after, Position::Body { .. } | Position::Chunks { .. });
                        self.begun = Some(has_body);
                        (self.position, at) = (after, at + length);
                    }
                },
            }
        }
        pass.up_to(bytes, at)
    }
}

impl Position {
    /// Returns the position after a request.
    fn after_request(is_last: bool) -> Self {
        if is_last { Self::End } else { Self::Head }
    }
}

#[cfg(test)]
mod tests;
