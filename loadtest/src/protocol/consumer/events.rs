//! A parser of server-sent events that accepts bytes in pieces of any size.

use memchr::memchr;

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Event {
    /// The type of the event; empty for one without a type.
    pub(crate) kind: String,
    pub(crate) id: Option<String>,
    pub(crate) data: Vec<u8>,
}

/// The lines of a stream, of which the last may be incomplete.
#[derive(Debug, Default)]
pub(crate) struct EventParser {
    pending: Vec<u8>,
    next: Event,
    has_data: bool,
}

impl EventParser {
    /// Returns the buffer to which the next bytes of the stream are added.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.pending
    }

    /// Passes each event on that is complete.
    ///
    /// # Errors
    /// An event is rejected.
    pub(crate) fn take_all<E>(&mut self, mut take: impl FnMut(Event) -> Result<(), E>) -> Result<(), E> {
        let pending = std::mem::take(&mut self.pending);
        let mut rest = pending.as_slice();
        while let Some(end) = memchr(b'\n', rest) {
            let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
            rest = &rest[end + 1..];
            if let Some(event) = self.line(line) {
                take(event)?;
            }
        }
        self.pending = rest.to_vec();
        Ok(())
    }

    /// Reads a line. Returns the event that it ends, if that has data or an id.
    fn line(&mut self, line: &[u8]) -> Option<Event> {
        if line.is_empty() {
            let event = std::mem::take(&mut self.next);
            let has_data = std::mem::take(&mut self.has_data);
            return (has_data || event.id.is_some()).then_some(event);
        }
        let (field, value) = match memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = || String::from_utf8_lossy(value).into_owned();
        match field {
            b"event" => self.next.kind = text(),
            b"id" => self.next.id = Some(text()),
            b"data" => {
                if self.has_data {
                    self.next.data.push(b'\n');
                }
                self.has_data = true;
                self.next.data.extend_from_slice(value);
            }
            // Comments keep the connection alive; `retry` is for browsers.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "retry: 1000\n\n: alive\n\nid: 42\ndata: {\"position\":42}\n\nevent: gap\r\nid:43\r\n\
        data:a\r\ndata: b\r\n\r\nevent: superseded\ndata\n\nid: 57\n\nid: 44\ndata: cut";

    fn event(kind: &str, id: Option<&str>, data: &str) -> Event {
        Event { kind: kind.to_owned(), id: id.map(str::to_owned), data: data.into() }
    }

    #[test]
    fn events_split_at_any_byte_are_the_same_and_an_incomplete_one_is_kept_back() {
        let expected = [
            event("", Some("42"), "{\"position\":42}"),
            event("gap", Some("43"), "a\nb"),
            event("superseded", None, ""),
            event("", Some("57"), ""),
        ];
        for at in 0..=STREAM.len() {
            let (mut parser, mut events) = (EventParser::default(), Vec::new());
            for part in [&STREAM[..at], &STREAM[at..]] {
                parser.buffer().extend_from_slice(part.as_bytes());
                let taken: Result<(), ()> = parser.take_all(|event| {
                    events.push(event);
                    Ok(())
                });
                taken.unwrap();
            }
            assert_eq!(events, expected, "split at {at}");
        }
    }
}
