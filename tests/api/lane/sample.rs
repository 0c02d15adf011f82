//! A request that the lane supports, and variations of it.

use super::*;

/// A request as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    line: String,
    fields: Vec<String>,
    body: Vec<u8>,
    /// Whether it has a header `Content-Length`.
    measured: bool,
}

impl Sample {
    /// Returns a POST of JSON by `admin` to this path.
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

    /// Returns a POST of JSON by `admin` to the most frequent path.
    pub(crate) fn of(body: impl Into<Vec<u8>>) -> Self {
        Self::to(REALTIME, body)
    }

    /// Returns a request without messages.
    pub(crate) fn idle() -> Self {
        Self::of("[]")
    }

    /// Returns a POST of rows by `admin` to this path.
    pub(crate) fn rows(path: &str, rows: impl Into<Vec<u8>>) -> Self {
        Self::to(path, rows).instead("Content-Type: text/plain").instead("Accept: text/plain")
    }

    /// Replaces the request line.
    pub(crate) fn line(self, line: &str) -> Self {
        Self { line: line.to_owned(), ..self }
    }

    /// Adds a header line, even if the header is present already.
    pub(crate) fn with(mut self, field: &str) -> Self {
        self.fields.push(field.to_owned());
        self
    }

    /// Removes the headers of this name.
    pub(crate) fn without(mut self, name: &str) -> Self {
        let is_named = |field: &String| field.split(':').next().is_some_and(|n| n.eq_ignore_ascii_case(name));
        self.fields.retain(|field| !is_named(field));
        self
    }

    /// Replaces the headers of this name by this header line.
    pub(crate) fn instead(self, field: &str) -> Self {
        let name = field.split(':').next().unwrap_or_default().trim_end();
        self.without(name).with(field)
    }

    /// Removes `Content-Length`.
    pub(crate) fn unmeasured(self) -> Self {
        Self { measured: false, ..self }
    }

    /// Replaces the body, or the bytes that follow in its place.
    pub(crate) fn body(self, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..self }
    }

    /// Makes the request the last one on its connection.
    pub(crate) fn closing(self) -> Self {
        self.instead("Connection: close")
    }

    /// Returns the lines of the head, each with its line end.
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
