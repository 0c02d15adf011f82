//! The file of an event (docs/rules.md#events; V-03 to V-09).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::data::binary::Binary;
use crate::error::{Error, Noun, Result};
use crate::id::{BinaryId, EventId};
use crate::links::Linked;
use crate::naming::naming;

/// The state of an event's file.
#[derive(Debug, Clone)]
pub enum Content {
    /// The complete file.
    Complete(Binary),
    /// The first `length` bytes; the upload is not finished.
    Incomplete(Binary),
}

impl Content {
    /// Returns the file or the part of it that was uploaded.
    pub fn binary(&self) -> &Binary {
        match self {
            Self::Complete(binary) | Self::Incomplete(binary) => binary,
        }
    }

    /// Returns whether chunks are missing.
    pub fn is_incomplete(&self) -> bool {
        matches!(self, Self::Incomplete(_))
    }

    /// Returns the names of the fragments that describe a file; clients cannot set them.
    pub fn markers() -> [String; 2] {
        [naming().fragment("IsBinary"), naming().fragment("IsIncompleteBinary")]
    }

    /// Returns the fragment that describes this file (V-06, V-09).
    pub fn marker(&self) -> (String, Box<RawValue>) {
        let [whole, part] = Self::markers();
        let (name, value) = match self {
            Self::Complete(Binary { name, content_type, length, .. }) => {
                (whole, json!({"type": content_type, "name": name, "length": length}))
            }
            Self::Incomplete(binary) => (part, json!({"range": range(binary)})),
        };
        (name, to_raw_value(&value).expect("writing to memory does not fail and all keys are strings"))
    }
}

/// Returns the range of an incomplete file, from its first byte on.
fn range(binary: &Binary) -> String {
    format!("0-{}/*", binary.length - 1)
}

/// The header `Content-Range`: `<start>-<end>/<length>`, with `*` for a length that is unknown before the last chunk.
/// The prefix `bytes ` is optional (V-06).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentRange {
    start: u64,
    end: u64,
    total: Option<u64>,
}

impl ContentRange {
    /// Parses the header.
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed. A length that is not the end of this chunk is invalid too,
    /// because only the last chunk has a length.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = || {
            let allowed =
                "<start>-<end>/* for a chunk, <start>-<end>/<length> with <length> = <end> + 1 for the last";
            Error::invalid_value("Content-Range", text, allowed)
        };
        let number = |digits: &str| match !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
            // Far below the values where a sum of two would overflow.
            true => digits.parse::<u64>().ok().filter(|number| *number <= 1 << 50),
            false => None,
        };
        let text = text.trim();
        let unit = text.get(..6).is_some_and(|unit| unit.eq_ignore_ascii_case("bytes "));
        let text = if unit { text[6..].trim_start() } else { text };
        let (range, total) = text.split_once('/').ok_or_else(wrong)?;
        let (start, end) = range.split_once('-').ok_or_else(wrong)?;
        let (start, end) = (number(start).ok_or_else(wrong)?, number(end).ok_or_else(wrong)?);
        let total = match total {
            "*" => None,
            digits => Some(number(digits).ok_or_else(wrong)?),
        };
        if start <= end && total.is_none_or(|total| total == end + 1) {
            Ok(Self { start, end, total })
        } else {
            Err(wrong())
        }
    }

    /// Returns the bytes of this chunk.
    pub fn length(&self) -> u64 {
        self.end + 1 - self.start
    }

    /// Returns the bytes of the file including this chunk.
    pub fn reaches(&self) -> u64 {
        self.end + 1
    }

    /// Rejects a chunk whose length does not match its header.
    ///
    /// # Errors
    /// `Invalid` names both lengths.
    pub fn check_length(&self, sent: u64) -> Result<()> {
        if sent == self.length() {
            Ok(())
        } else {
            let allowed = format!("{} bytes, as the range {}-{} says", self.length(), self.start, self.end);
            Err(Error::invalid_value("body", format!("{sent} bytes"), &allowed))
        }
    }
}

/// The purpose of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// POST: the file of an event without one; it replaces an incomplete upload (V-06).
    New,
    /// PUT: the file that replaces the present one.
    Replacement,
    /// POST with `Content-Range`: the next bytes.
    Chunk(ContentRange),
}

/// The way in which an upload is attached.
#[derive(Debug)]
pub enum AttachedUpload {
    /// The upload becomes the file, and the previous content is deleted.
    Alone(Content),
    /// Its bytes are appended to those of an incomplete file.
    Behind(Content),
}

impl AttachedUpload {
    /// Returns the resulting state of the file.
    pub fn content(&self) -> &Content {
        match self {
            Self::Alone(content) | Self::Behind(content) => content,
        }
    }
}

impl Placement {
    /// Checks whether an upload may be placed, given the present file of the event.
    ///
    /// # Errors
    /// `Duplicate` when the event has a file already, `NotFound` when there is none to replace, `Invalid` for a chunk
    /// that is not the next one.
    pub fn check(&self, event: EventId, present: Option<&Content>) -> Result<()> {
        match (self, present) {
            (Self::New | Self::Chunk(_), Some(Content::Complete(_))) => {
                Err(Error::Duplicate { noun: Noun::EventBinary, key: event.to_string() })
            }
            (Self::Replacement, None) => Err(Error::not_found(Noun::EventBinary, event)),
            (Self::Chunk(range), present) => {
                let expected = present.map_or(0, |content| content.binary().length.unsigned_abs());
                if range.start == expected {
                    Ok(())
                } else {
                    let given = format!("a chunk that starts at {}", range.start);
                    Err(Error::invalid_value(
                        "Content-Range",
                        given,
                        &format!("one that starts at {expected}"),
                    ))
                }
            }
            _ => Ok(()),
        }
    }

    /// Determines how a finished upload is attached.
    ///
    /// # Errors
    /// The errors of [`Placement::check`].
    pub fn place(
        &self,
        event: EventId,
        present: Option<&Content>,
        uploaded: &Binary,
    ) -> Result<AttachedUpload> {
        self.check(event, present)?;
        let uploaded = uploaded.clone();
        let whole = |binary| match self {
            Self::Chunk(ContentRange { total: None, .. }) => Content::Incomplete(binary),
            _ => Content::Complete(binary),
        };
        Ok(match (self, present) {
            // Name and type are those of the first chunk.
            (Self::Chunk(_), Some(Content::Incomplete(begun))) => AttachedUpload::Behind(whole(Binary {
                length: begun.length + uploaded.length,
                ..begun.clone()
            })),
            // The name stays, because a raw body does not name the file.
            (Self::Replacement, Some(present)) => {
                AttachedUpload::Alone(whole(Binary { name: present.binary().name.clone(), ..uploaded }))
            }
            _ => AttachedUpload::Alone(whole(uploaded)),
        })
    }
}

/// The representation of an event's file (V-03); its source is the event (V-03a).
#[derive(Debug, Clone)]
pub struct EventBinary {
    /// The event.
    pub event: EventId,
    /// The state of the file.
    pub content: Content,
    /// The id; `None` for a file that was not stored (M-02).
    pub id: Option<BinaryId>,
}

impl Serialize for Linked<'_, EventBinary> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value, links } = *self;
        let binary = value.content.binary();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &links.event_binary(value.event, value.id))?;
        map.serialize_entry("type", &binary.content_type)?;
        if binary.name != value.event.to_string() {
            map.serialize_entry("name", &binary.name)?;
        }
        map.serialize_entry("source", &value.event)?;
        match &value.content {
            Content::Complete(binary) => map.serialize_entry("length", &binary.length)?,
            Content::Incomplete(binary) => map.serialize_entry("range", &range(binary))?,
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary(id: i64, name: &str, length: i64) -> Binary {
        Binary { id: BinaryId(id), name: name.into(), content_type: format!("text/{name}"), length }
    }

    fn chunk(text: &str) -> Placement {
        Placement::Chunk(ContentRange::parse(text).expect(text))
    }

    #[test]
    fn ranges_are_read_with_and_without_their_unit() {
        for text in ["5-9/*", "bytes 5-9/*", " Bytes  5-9/* "] {
            let range = ContentRange::parse(text).expect(text);
            assert_eq!(
                (range.start, range.length(), range.reaches(), range.total),
                (5, 5, 10, None),
                "{text}"
            );
        }
        assert_eq!(ContentRange::parse("0-0/1").expect("one byte").total, Some(1));
    }

    #[test]
    fn invalid_ranges_are_rejected() {
        for text in [
            "",
            "5-9",
            "5/*",
            "9-5/*",
            "-5/*",
            "5-/*",
            "*/10",
            "5-9/",
            "5-9/11",
            "5-9/9",
            "+5-9/*",
            "5 - 9/*",
            "a-b/c",
            "0-99999999999999999999/*",
            "0-1125899906842625/*",
            "items 5-9/*",
            "0-1,3-4/*",
            "é-9/*",
        ] {
            let error = ContentRange::parse(text).expect_err(text).to_string();
            assert!(error.contains("'Content-Range'"), "{error}");
        }
    }

    #[test]
    fn chunk_must_be_the_next_one() {
        let begun = Content::Incomplete(binary(1, "a", 5));
        let event = EventId(7);
        for (range, present, allowed) in [
            ("0-4/*", None, true),
            ("1-4/*", None, false),
            ("5-9/*", None, false),
            ("5-9/*", Some(&begun), true),
            ("5-9/10", Some(&begun), true),
            ("0-4/*", Some(&begun), false),
            ("6-9/*", Some(&begun), false),
        ] {
            assert_eq!(chunk(range).check(event, present).is_ok(), allowed, "{range} {present:?}");
        }
    }

    #[test]
    fn last_chunk_completes_the_file_under_name_and_type_of_the_first() {
        let begun = Content::Incomplete(binary(1, "a", 5));
        let placed = chunk("5-7/8").place(EventId(7), Some(&begun), &binary(2, "b", 3)).expect("the next");
        let AttachedUpload::Behind(Content::Complete(whole)) = placed else { panic!("{placed:?}") };
        assert_eq!((whole.id, &*whole.content_type, whole.length), (BinaryId(1), "text/a", 8));
    }

    #[test]
    fn a_complete_file_is_replaced_by_put_alone() {
        let (whole, new, event) = (Content::Complete(binary(1, "a", 5)), binary(2, "b", 3), EventId(7));
        for placement in [Placement::New, chunk("5-9/10")] {
            let refused = placement.place(event, Some(&whole), &new).expect_err("a second file");
            assert!(matches!(refused, Error::Duplicate { .. }));
        }
        let placed = Placement::Replacement.place(event, Some(&whole), &new).expect("a replacement");
        assert_eq!((placed.content().binary().id, &*placed.content().binary().name), (BinaryId(2), "a"));
        assert!(Placement::Replacement.place(event, None, &new).is_err());
    }
}
