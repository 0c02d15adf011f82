//! The division of a registration body into sets. Nothing is stored before a set is parsed completely (S-12,
//! S-14, S-27, S-40).

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::csv::groups::{id_of, is_x_id, message_id, switch};
use crate::csv::line::{Lines, Record, Records};
use crate::csv::refusal::Refusal;
use crate::csv::request_template::RequestDefinition;
use crate::csv::response_template::ResponseDefinition;
use crate::csv::template_flaw::Flaw;
use crate::csv::template_set::{fragment_of, is_template_id};

/// A part of a body that is processed together.
#[derive(Debug)]
pub(crate) enum Section {
    /// The set of the header `X-Id`.
    Alone(Draft),
    /// The set of lines `15`. All lines of an X-Id form one set, and its response stands where the X-Id
    /// occurs first.
    Grouped(Draft),
    /// The error lines for lines that belong to no X-Id: before the first line `15`, and after a malformed
    /// one.
    Unnamed(Lines),
    /// A body without any X-Id, or with an invalid header.
    NoXId,
}

/// A set to be registered.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The name of the set.
    pub(crate) x_id: String,
    /// The line where it starts: its line `15`, or the first line of the body.
    pub(crate) line: usize,
    /// Whether it has only lines `15`.
    pub(crate) is_empty: bool,
    /// The response lines for its flaws.
    pub(crate) flaws: Lines,
    requests: Vec<Value>,
    responses: Vec<Value>,
    ids: HashSet<u32>,
}

/// Divides a body into sections.
pub(crate) fn sections(header: Option<&str>, records: &Records<'_>) -> Vec<Section> {
    match header {
        Some(x_id) if is_x_id(x_id) => vec![Section::Alone(of_header(x_id, records))],
        None if records.iter().any(|record| message_id(&record) == Some(15)) => grouped(records),
        _ => vec![Section::NoXId],
    }
}

fn of_header(x_id: &str, records: &Records<'_>) -> Draft {
    let mut draft = Draft::new(x_id, records.iter().next().map_or(1, |record| record.line));
    for record in records.iter() {
        match switch(&record, Some(x_id)) {
            None => draft.add(&record),
            Some(_) => draft.refuse(record.line),
        }
    }
    draft
}

fn grouped(records: &Records<'_>) -> Vec<Section> {
    let mut sections = vec![Section::Unnamed(Lines::default())];
    let mut places = HashMap::new();
    let mut current = 0;
    for record in records.iter() {
        match switch(&record, None) {
            Some(Ok(x_id)) => {
                current = *places.entry(x_id.to_owned()).or_insert(sections.len());
                if current == sections.len() {
                    sections.push(Section::Grouped(Draft::new(x_id, record.line)));
                }
            }
            Some(Err(refusal)) => {
                let mut malformed = Lines::default();
                refusal.write(record.line, &mut malformed);
                current = sections.len();
                sections.push(Section::Unnamed(malformed));
            }
            None => match &mut sections[current] {
                Section::Unnamed(malformed) => Refusal::Malformed.write(record.line, malformed),
                Section::Alone(draft) | Section::Grouped(draft) => draft.add(&record),
                Section::NoXId => {}
            },
        }
    }
    sections
}

impl Section {
    /// Returns the X-Id for line `87` (S-40).
    pub(crate) fn group(&self) -> Option<&str> {
        match self {
            Self::Grouped(draft) => Some(&draft.x_id),
            _ => None,
        }
    }
}

impl Draft {
    fn new(x_id: &str, line: usize) -> Self {
        Self {
            x_id: x_id.to_owned(),
            line,
            is_empty: true,
            flaws: Lines::default(),
            requests: Vec::new(),
            responses: Vec::new(),
            ids: HashSet::new(),
        }
    }

    /// Returns the fragment that is stored for a set without flaws (S-15).
    pub(crate) fn into_fragment(self) -> Value {
        fragment_of(self.requests, self.responses)
    }

    fn refuse(&mut self, line: usize) {
        self.is_empty = false;
        Refusal::Malformed.write(line, &mut self.flaws);
    }

    /// Parses a line and adds a response line for each of its flaws.
    fn add(&mut self, record: &Record<'_>) {
        self.is_empty = false;
        let (Some(kind), Ok(values)) = (message_id(record), record.values) else {
            return self.refuse(record.line);
        };
        let mut flaws = Vec::new();
        match (kind, values.get(1)) {
            (10 | 11, id) => {
                let id = id.and_then(|text| id_of(text)).filter(|id| is_template_id(*id));
                match id {
                    None => flaws.push(Flaw::BadId),
                    Some(id) if !self.ids.insert(id) => flaws.push(Flaw::DuplicateId),
                    Some(_) => {}
                }
                let fields = values.get(2..).unwrap_or_default();
                // A template without an id is parsed only to report its other flaws.
                let id = id.unwrap_or_default();
                flaws.extend(if kind == 10 {
                    self.add_request(id, fields)
                } else {
                    self.add_response(id, fields)
                });
            }
            _ => flaws.push(Flaw::BadId),
        }
        for flaw in flaws {
            self.flaws.push(["41", &record.line.to_string(), &flaw.to_string()]);
        }
    }

    fn add_request(&mut self, id: u32, fields: &[Cow<'_, str>]) -> Vec<Flaw> {
        match RequestDefinition::of_values(fields).map_err(|flaw| vec![flaw]).and_then(|template| {
            template.compile()?;
            Ok(template.to_json(id))
        }) {
            Ok(stored) => self.requests.push(stored),
            Err(flaws) => return flaws,
        }
        Vec::new()
    }

    fn add_response(&mut self, id: u32, fields: &[Cow<'_, str>]) -> Vec<Flaw> {
        match ResponseDefinition::of_values(fields).map_err(|flaw| vec![flaw]).and_then(|template| {
            template.compile(id)?;
            Ok(template.to_json(id))
        }) {
            Ok(stored) => self.responses.push(stored),
            Err(flaws) => return flaws,
        }
        Vec::new()
    }
}
