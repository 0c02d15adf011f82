//! The heads of the parts of a form in UTF-8. Old programs write file names in Latin-1 (N-12a), which the library that
//! reads forms refuses. Contents of parts stay as they are.

use bytes::{Bytes, BytesMut};
use encoding_rs::WINDOWS_1252;

/// The end of a head.
const END: &[u8] = b"\r\n\r\n";
const LINE_END: &[u8] = b"\r\n";
/// The longest head that is decoded; the library refuses longer ones.
const LONGEST: usize = 64 << 10;

/// Decodes the heads of a form as its bytes arrive.
pub(super) struct HeadDecoder {
    /// The line end and the boundary before each part.
    delimiter: Vec<u8>,
    place: Place,
    /// Bytes that may begin a delimiter, or belong to a head that is not complete.
    held: BytesMut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the first byte, where a delimiter needs no line end.
    Begin,
    Content,
    Head,
}

impl HeadDecoder {
    /// Creates the decoder for the form with this content type; `None` if that names no boundary.
    pub(super) fn of(content_type: &str) -> Option<Self> {
        let mut parameters =
            content_type.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
        let (_, boundary) = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("boundary"))?;
        let boundary = boundary.trim().trim_matches('"');
        let delimiter = format!("\r\n--{boundary}").into_bytes();
        (!boundary.is_empty()).then(|| Self { delimiter, place: Place::Begin, held: BytesMut::new() })
    }

    /// Takes the next bytes and returns those that are ready.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Bytes {
        self.held.extend_from_slice(bytes);
        let mut ready = BytesMut::with_capacity(self.held.len());
        while self.step(&mut ready) {}
        ready.freeze()
    }

    /// Returns the rest, at the end of the form.
    pub(super) fn finish(&mut self) -> Bytes {
        self.held.split().freeze()
    }

    /// Returns whether there may be more to do.
    fn step(&mut self, ready: &mut BytesMut) -> bool {
        match self.place {
            Place::Begin => {
                let first = &self.delimiter[LINE_END.len()..];
                if first.len() > self.held.len() && first.starts_with(&self.held) {
                    return false;
                }
                self.place = if self.held.starts_with(first) { Place::Head } else { Place::Content };
                if self.place == Place::Head {
                    let length = first.len();
                    ready.extend_from_slice(&self.held.split_to(length));
                }
                true
            }
            Place::Content => match find(&self.held, &self.delimiter) {
                Some(at) => {
                    ready.extend_from_slice(&self.held.split_to(at + self.delimiter.len()));
                    self.place = Place::Head;
                    true
                }
                None => {
                    let kept = self.held.len().min(self.delimiter.len() - 1);
                    ready.extend_from_slice(&self.held.split_to(self.held.len() - kept));
                    false
                }
            },
            Place::Head => self.step_in_head(ready),
        }
    }

    fn step_in_head(&mut self, ready: &mut BytesMut) -> bool {
        let begun = self.held.len().min(LINE_END.len());
        // Anything else after the boundary is not a head: the content contains it, or the form ends.
        if self.held[..begun] != LINE_END[..begun] || self.held.len() > LONGEST {
            self.place = Place::Content;
            return true;
        }
        let Some(at) = find(&self.held, END) else { return false };
        // The last line end may belong to the next delimiter, if the part is empty.
        let head = self.held.split_to(at + LINE_END.len());
        match std::str::from_utf8(&head) {
            Ok(_) => ready.extend_from_slice(&head),
            Err(_) => {
                ready.extend_from_slice(WINDOWS_1252.decode_without_bom_handling(&head).0.as_bytes());
            }
        }
        self.place = Place::Content;
        true
    }
}

/// Returns the position of a text that begins with a line end.
fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + bytes[from..].iter().position(|byte| *byte == b'\r')?;
        if bytes[at..].starts_with(text) {
            return Some(at);
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes a form that arrives in pieces of this many bytes.
    fn decoded(form: &[u8], piece: usize) -> Vec<u8> {
        let mut decoder = HeadDecoder::of("multipart/form-data; boundary=\"b\"").expect("a boundary");
        let mut out: Vec<u8> = form.chunks(piece).flat_map(|bytes| decoder.push(bytes)).collect();
        out.extend(decoder.finish());
        out
    }

    #[test]
    fn heads_become_utf_8_and_contents_stay() {
        let form = b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"gr\xfc\xdfe.csv\"\r\n\r\n\
            \xfc\r\n\r\n\xfc\r\n--bx\xfc\r\n\r\n\r\n--b\r\nX: \xc3\xbc\r\n\r\n\r\n--b\r\nX: \xe9\r\n\r\n--b--\r\n\xfc";
        let expected = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"grüße.csv\"\r\n\r\n"
            .bytes()
            .chain(*b"\xfc\r\n\r\n\xfc\r\n--bx\xfc\r\n\r\n\r\n--b\r\nX: \xc3\xbc\r\n\r\n")
            .chain(*b"\r\n--b\r\nX: \xc3\xa9\r\n\r\n--b--\r\n\xfc")
            .collect::<Vec<u8>>();
        for piece in 1..=form.len() {
            assert!(
                decoded(form, piece) == expected,
                "{piece}: {:?}",
                decoded(form, piece).escape_ascii().to_string()
            );
        }
    }

    #[test]
    fn content_type_without_a_boundary_has_no_decoder() {
        for content_type in
            ["multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; x=b"]
        {
            assert!(HeadDecoder::of(content_type).is_none(), "{content_type}");
        }
        assert!(HeadDecoder::of("multipart/form-data;charset=x; Boundary=b").is_some());
    }

    proptest::proptest! {
        #[test]
        fn text_of_any_form_stays_as_it_is(text in r#"[\r\n\-bü:x ]{0,60}"#, piece in 1_usize..9) {
            proptest::prop_assert_eq!(decoded(text.as_bytes(), piece), text.as_bytes());
        }
    }
}
