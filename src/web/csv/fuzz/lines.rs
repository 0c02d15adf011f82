//! Tests of the record parser against a state machine that reads byte by byte (S-01, S-02).

use proptest::prop_assert_eq;
use proptest::strategy::Strategy;

use super::{SEARCH, pieces};
use crate::csv::line::{Record, Records};

/// The state of the machine within a record.
#[derive(Clone, Copy, PartialEq)]
enum State {
    BeforeValue,
    Bare,
    Quoted,
    QuoteInQuoted,
    BehindQuoted,
    Broken,
}

/// A record under construction.
struct Model {
    state: State,
    /// Whether the number of quotes so far is even.
    even: bool,
    blank: bool,
    all: Vec<u8>,
    value: Vec<u8>,
    values: Vec<Vec<u8>>,
}

type Found = Vec<(usize, Option<Vec<String>>)>;

impl Model {
    fn new() -> Self {
        let (all, value, values) = Default::default();
        Self { state: State::BeforeValue, even: true, blank: true, all, value, values }
    }

    fn take(&mut self, byte: u8) {
        self.all.push(byte);
        self.even ^= byte == b'"';
        let is_blank = byte == b' ' || byte == b'\t' || byte == b'\r';
        self.blank &= is_blank;
        self.state = match (self.state, byte) {
            (State::Broken, _) => State::Broken,
            (State::BeforeValue, _) if is_blank => State::BeforeValue,
            (State::BeforeValue, b'"') => State::Quoted,
            (State::Quoted, b'"') => State::QuoteInQuoted,
            (State::Bare, b'"') => State::Broken,
            (State::QuoteInQuoted, b'"') | (State::Quoted, _) => self.keep(byte, State::Quoted),
            (_, b',') => self.end_value(),
            (State::BeforeValue | State::Bare, _) => self.keep(byte, State::Bare),
            (State::QuoteInQuoted | State::BehindQuoted, _) if is_blank => State::BehindQuoted,
            (State::QuoteInQuoted | State::BehindQuoted, _) => State::Broken,
        };
    }

    fn keep(&mut self, byte: u8, next: State) -> State {
        self.value.push(byte);
        next
    }

    fn end_value(&mut self) -> State {
        while self.state == State::Bare && matches!(self.value.last(), Some(b' ' | b'\t' | b'\r')) {
            self.value.pop();
        }
        self.values.push(std::mem::take(&mut self.value));
        State::BeforeValue
    }

    fn end(mut self, line: usize, found: &mut Found) {
        if self.blank {
            return;
        }
        let broken = matches!(self.state, State::Broken | State::Quoted);
        self.end_value();
        let values = self.values.into_iter().map(|value| String::from_utf8_lossy(&value).into_owned());
        let valid = !broken && std::str::from_utf8(&self.all).is_ok();
        found.push((line, valid.then(|| values.collect())));
    }
}

fn model(body: &[u8]) -> Found {
    let (mut found, mut record, mut line, mut start) = (Vec::new(), Model::new(), 1, 1);
    for byte in body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body) {
        line += usize::from(*byte == b'\n');
        if *byte == b'\n' && record.even {
            std::mem::replace(&mut record, Model::new()).end(start, &mut found);
            start = line;
        } else {
            record.take(*byte);
        }
    }
    record.end(start, &mut found);
    found
}

fn read(body: &[u8]) -> Found {
    let values = |record: Record<'_>| {
        let values = record.values.ok().map(|values| values.iter().map(|value| value.to_string()));
        (record.line, values.map(Iterator::collect))
    };
    Records::parse(body).iter().map(values).collect()
}

#[test]
fn records_are_those_of_a_machine() {
    const PIECES: &[&str] =
        &["\"", "\"\"", ",", "\n", "\r\n", "\r", " ", "\t", "a", "10", "\u{feff}", "é", "\u{a0}", "\0"];
    let bytes = proptest::collection::vec(proptest::prelude::any::<u8>(), 0..60);
    let mixed = (pieces(PIECES, 12), proptest::collection::vec(0x70..=0xff_u8, 0..3), pieces(PIECES, 12))
        .prop_map(|(before, bytes, behind)| [before.as_bytes(), &bytes, behind.as_bytes()].concat());
    let text = pieces(PIECES, 30).prop_map(String::into_bytes);
    SEARCH.check(&proptest::prop_oneof![bytes, mixed, text], |body| {
        prop_assert_eq!(read(&body), model(&body));
        Ok(())
    });
}
