//! A request that the lane takes, and how others differ from it.

use crate::harness::{ADMIN_PASSWORD, REALTIME, token};

/// A request as it will be on the wire.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    line: String,
    fields: Vec<String>,
    body: Vec<u8>,
    /// Whether its length is told by the field that is about that.
    measured: bool,
}

impl Sample {
    /// A POST of `admin` to this path, of JSON.
    pub(crate) fn to(path: &str, body: impl Into<Vec<u8>>) -> Self {
        let authorization = format!("Authorization: Basic {}", token("admin", ADMIN_PASSWORD));
        let fields =
            ["Host: x", &authorization, "Accept: application/json", "Content-Type: application/json"];
        Self {
            line: format!("POST {path} HTTP/1.1"),
            fields: fields.map(ToOwned::to_owned).to_vec(),
            body: body.into(),
            measured: true,
        }
    }

    /// A POST of `admin` of JSON where most clients send it.
    pub(crate) fn of(body: impl Into<Vec<u8>>) -> Self {
        Self::to(REALTIME, body)
    }

    /// The one that asks for nothing.
    pub(crate) fn idle() -> Self {
        Self::of("[]")
    }

    /// A POST of `admin` to this path, of rows.
    pub(crate) fn rows(path: &str, rows: impl Into<Vec<u8>>) -> Self {
        Self::to(path, rows).instead("Content-Type: text/plain").instead("Accept: text/plain")
    }

    /// With another request line.
    pub(crate) fn line(self, line: &str) -> Self {
        Self { line: line.to_owned(), ..self }
    }

    /// With one more header line, whatever there is already.
    pub(crate) fn with(mut self, field: &str) -> Self {
        self.fields.push(field.to_owned());
        self
    }

    /// Without any header of this name.
    pub(crate) fn without(mut self, name: &str) -> Self {
        let is_named = |field: &String| field.split(':').next().is_some_and(|n| n.eq_ignore_ascii_case(name));
        self.fields.retain(|field| !is_named(field));
        self
    }

    /// With this header line for those of its name.
    pub(crate) fn instead(self, field: &str) -> Self {
        let name = field.split(':').next().unwrap_or_default().trim_end();
        self.without(name).with(field)
    }

    /// Without `Content-Length`.
    pub(crate) fn unmeasured(self) -> Self {
        Self { measured: false, ..self }
    }

    /// With another body, or what follows in its place.
    pub(crate) fn body(self, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..self }
    }

    /// The last one on its connection.
    pub(crate) fn closing(self) -> Self {
        self.instead("Connection: close")
    }

    /// The lines of the head, each with its end.
    pub(crate) fn head(&self) -> String {
        let length = self.measured.then(|| format!("Content-Length: {}", self.body.len()));
        let lines = [&self.line].into_iter().chain(&self.fields).chain(&length);
        lines.map(|line| format!("{line}\r\n")).chain(["\r\n".to_owned()]).collect()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        [self.head().into_bytes(), self.body.clone()].concat()
    }
}

impl From<Sample> for Vec<u8> {
    fn from(sample: Sample) -> Self {
        sample.bytes()
    }
}
