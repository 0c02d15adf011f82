//! The content of a request: JSON, a text, or a file, which is streamed.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::Frame;
use indicatif::ProgressBar;
use serde_json::Value;

use super::failure::{Code, Failure};

/// The body of a request, as `hyper` sends it.
pub(crate) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// The bytes that are read from a file at a time.
const CHUNK: usize = 64 << 10;

/// The content of a request.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    Json(Value),
    Text(String),
    File(Upload),
}

/// A file to send.
#[derive(Debug, Clone)]
pub(crate) struct Upload {
    path: PathBuf,
    length: u64,
    media_type: String,
    /// The bytes of a form before and after the file.
    head: String,
    tail: String,
    /// Shows the progress.
    pub(crate) bar: ProgressBar,
}

impl Content {
    /// Returns the body of a request without content.
    pub(crate) fn nothing() -> Body {
        Empty::new().map_err(|never| match never {}).boxed_unsync()
    }

    /// Returns the body and its length in bytes.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn body(&self) -> Result<(Body, u64), Failure> {
        let text = match self {
            Self::Json(value) => value.to_string(),
            Self::Text(text) => text.clone(),
            Self::File(upload) => return upload.body(),
        };
        let length = text.len() as u64;
        Ok((Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed_unsync(), length))
    }

    /// Returns the media type for `Content-Type`.
    pub(crate) fn media_type(&self) -> &str {
        match self {
            Self::Json(_) => "application/json",
            Self::Text(_) => "text/plain",
            Self::File(upload) => &upload.media_type,
        }
    }

    /// Returns the text that a dry run prints for this content.
    pub(crate) fn described(&self) -> String {
        match self {
            Self::Json(value) => format!("{value:#}"),
            Self::Text(text) => text.clone(),
            Self::File(Upload { path, length, media_type, .. }) => {
                format!("{media_type}: {length} bytes of {}", path.display())
            }
        }
    }
}

impl Upload {
    /// Returns an upload with the file as the whole body.
    ///
    /// # Errors
    /// The file cannot be read, or is not a regular file.
    pub(crate) fn raw(path: &Path, media_type: &str) -> Result<Self, Failure> {
        Ok(Self {
            path: path.into(),
            length: length_of(path)?,
            media_type: media_type.to_owned(),
            head: String::new(),
            tail: String::new(),
            bar: ProgressBar::hidden(),
        })
    }

    /// Returns an upload with a multipart form: the file is its part `file`; the part `object` precedes it if given.
    ///
    /// # Errors
    /// As [`raw`](Self::raw).
    pub(crate) fn form(path: &Path, media_type: &str, object: Option<&Value>) -> Result<Self, Failure> {
        // A boundary must not occur in the file. A random number of 32 digits does not occur by chance.
        let boundary = format!("platform-{:032x}", random()?);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.replace('\\', "%5C").replace('"', "%22").replace(['\r', '\n'], " ");
        let mut head = String::new();
        if let Some(object) = object {
            head = format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"object\"\r\n\
                 Content-Type: application/json\r\n\r\n{object}\r\n"
            );
        }
        head += &format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
             Content-Type: {media_type}\r\n\r\n"
        );
        let tail = format!("\r\n--{boundary}--\r\n");
        let media_type = format!("multipart/form-data; boundary={boundary}");
        Ok(Self { head, tail, media_type, ..Self::raw(path, "")? })
    }

    /// Returns the length of the file in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    fn body(&self) -> Result<(Body, u64), Failure> {
        let mut file =
            File::open(&self.path).map_err(|error| unreadable(&self.path, &error))?.take(self.length);
        let bar = self.bar.clone();
        let chunks = std::iter::from_fn(move || {
            let mut chunk = vec![0; CHUNK];
            match file.read(&mut chunk) {
                Ok(0) => None,
                Ok(count) => {
                    bar.inc(count as u64);
                    chunk.truncate(count);
                    Some(Ok(Bytes::from(chunk)))
                }
                Err(error) => Some(Err(error)),
            }
        });
        let [head, tail] = [&self.head, &self.tail].map(|text| Bytes::from(text.clone()));
        let parts = std::iter::once(Ok(head)).chain(chunks).chain(std::iter::once(Ok(tail)));
        let frames = parts
            .filter(|part| !matches!(part, Ok(part) if part.is_empty()))
            .map(|part| part.map(Frame::data));
        let length = (self.head.len() + self.tail.len()) as u64 + self.length;
        Ok((StreamBody::new(stream::iter(frames)).boxed_unsync(), length))
    }
}

fn length_of(path: &Path) -> Result<u64, Failure> {
    let found = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if found.is_file() {
        Ok(found.len())
    } else {
        Err(Failure::usage(format!("{} is not a file", path.display())))
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Code::Failed, format!("{}: {error}", path.display()))
}

fn random() -> Result<u128, Failure> {
    let mut bytes = [0; 16];
    ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes)
        .map_err(|_| Failure::new(Code::Failed, "the system gives no random numbers"))?;
    Ok(u128::from_be_bytes(bytes))
}
