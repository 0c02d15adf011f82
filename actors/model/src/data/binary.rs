//! Binaries: the files of managed objects (I-12, V-04, V-05).

use std::fmt::Write;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::body::Body;
use crate::devices::managed_object::{ManagedObjectPatch, NewManagedObject};
use crate::error::{Error, Result};
use crate::id::BinaryId;
use crate::naming::naming;

/// The content type of a file whose sender does not name one (V-04).
pub const DEFAULT_CONTENT_TYPE: &str = "application/octet-stream";
/// The maximum number of characters of a file name; the rest is cut off.
const MAX_NAME: usize = 255;
/// The maximum number of bytes of a content type.
const MAX_CONTENT_TYPE: usize = 255;
/// The characters that RFC 5987 encodes in an extended parameter.
const EXTENDED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A stored file, without its bytes.
#[derive(Debug, Clone)]
pub struct Binary {
    /// The id of this content. A replacement has another id, so no reader gets parts of both.
    pub id: BinaryId,
    /// The file name.
    pub name: String,
    /// The media type.
    pub content_type: String,
    /// The length in bytes.
    pub length: i64,
}

impl Binary {
    /// Returns the value of the header `Content-Disposition`: the name in ASCII for old clients and, if that is
    /// incomplete, also the full name (RFC 6266, RFC 5987; V-05).
    pub fn disposition(&self) -> String {
        let plain = |c: char| if c.is_ascii_graphic() && !"\"\\%".contains(c) || c == ' ' { c } else { '_' };
        let ascii: String = self.name.chars().map(plain).collect();
        let mut value = format!("attachment; filename=\"{ascii}\"");
        if ascii != self.name {
            let _ = write!(value, "; filename*=UTF-8''{}", utf8_percent_encode(&self.name, EXTENDED));
        }
        value
    }
}

/// Returns the file name in a client's text, without directories and control characters, cut to the maximum length.
/// Returns `None` when nothing is left.
pub fn file_name(given: &str) -> Option<String> {
    let last = given.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = last.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect();
    let name = name.trim();
    (!name.is_empty() && name != "." && name != "..").then(|| name.to_owned())
}

/// Returns the media type that a client gives its file, or the default for a text that is not valid in a header.
pub fn content_type(given: Option<&str>) -> String {
    let stands = |text: &&str| {
        text.len() <= MAX_CONTENT_TYPE
            && text.contains('/')
            && text.chars().all(|c| c.is_ascii_graphic() || c == ' ')
    };
    given.map(str::trim).filter(stands).unwrap_or(DEFAULT_CONTENT_TYPE).to_owned()
}

/// Adds the members that describe a binary to the body of a new object (I-12).
///
/// # Errors
/// None: the members are valid JSON.
pub fn describe(object: &mut NewManagedObject, binary: &Binary) -> Result<()> {
    for (name, raw) in fragments(binary).into_fragments()?.iter() {
        object.fragments.set(name, raw.to_owned());
    }
    Ok(())
}

/// Returns the change of an object whose binary is replaced (I-12).
///
/// # Errors
/// None: the members are valid JSON.
pub fn replacement(binary: &Binary) -> Result<ManagedObjectPatch> {
    ManagedObjectPatch::parse(fragments(binary))
}

fn fragments(binary: &Binary) -> Body {
    let marker = naming().fragment("IsBinary");
    let json = serde_json::json!({
        marker: "", "length": binary.length, "contentType": binary.content_type,
    });
    Body::parse(json.to_string().as_bytes()).expect("an object of three members is a body")
}

/// Parses the part `filesize`: the length of the file.
///
/// # Errors
/// `Invalid` names the value and what is allowed.
pub fn parse_size(text: &[u8]) -> Result<u64> {
    let text = String::from_utf8_lossy(text);
    let digits = Some(text.trim()).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    let size = digits.and_then(|digits| digits.parse().ok());
    size.ok_or_else(|| Error::invalid_value("filesize", &text, "the number of bytes of the file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disposition(name: &str) -> String {
        let name = name.to_owned();
        Binary { id: BinaryId(1), name, content_type: "a/b".into(), length: 0 }.disposition()
    }

    #[test]
    fn directories_and_control_characters_are_removed_from_file_names() {
        for (given, name) in [
            ("log.txt", Some("log.txt")),
            ("C:\\Users\\joe\\log.txt", Some("log.txt")),
            ("../../etc/passwd", Some("passwd")),
            ("a\r\nSet-Cookie: b", Some("aSet-Cookie: b")),
            (" \t ", None),
            ("..", None),
            ("dir/", None),
        ] {
            assert_eq!(file_name(given).as_deref(), name, "{given:?}");
        }
        assert_eq!(file_name(&"ü".repeat(300)).map(|name| name.chars().count()), Some(255));
    }

    #[test]
    fn disposition_contains_nothing_that_ends_its_quotes() {
        assert_eq!(disposition("log 1.txt"), "attachment; filename=\"log 1.txt\"");
        assert_eq!(
            disposition("a\"b\\c;é%.txt"),
            "attachment; filename=\"a_b_c;__.txt\"; filename*=UTF-8''a%22b%5Cc%3B%C3%A9%25.txt"
        );
    }

    #[test]
    fn content_type_that_is_invalid_in_a_header_is_replaced_by_the_default() {
        assert_eq!(content_type(Some(" text/plain; charset=utf-8 ")), "text/plain; charset=utf-8");
        for given in [None, Some(""), Some("text"), Some("a/b\r\nc"), Some("ä/b")] {
            assert_eq!(content_type(given), DEFAULT_CONTENT_TYPE);
        }
    }

    #[test]
    fn size_is_a_whole_number() {
        assert_eq!(parse_size(b" 42\r\n").expect("a number"), 42);
        for text in [&b""[..], b"-1", b"+1", b"1.5", b"0x10", b"99999999999999999999", b"\xff"] {
            assert!(parse_size(text).is_err(), "{text:?}");
        }
    }
}
