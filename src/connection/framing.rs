//! Where requests end, followed on the way to actix-http, which tells nobody.
//!
//! Three things cannot be had from actix-http itself. It executes what stands behind the last request of a connection (RFC 9112,
//! 9.6), it ends a connection without a word at a chunk that is none, and a target that is too long gets no answer of ours. So
//! the requests are followed here, by the rules by which actix-http reads them. Nothing is judged: what comes passes as it came.
//! But behind a request after which the connection closes nothing passes, and neither does a byte that may not stand in a chunk
//! or what is behind it; for a request with a target that is too long another one passes, to [`OVERLONG`]. What cannot be followed
//! passes, too: actix-http refuses it, and reads no further.

use std::mem::MaybeUninit;

/// Where a request leads that was sent to a longer target than there can be. No client can mean this path.
pub(crate) const OVERLONG: &str = "/%overlong";
/// The longest target that actix-http can read.
const TARGET_BYTES: usize = u16::MAX as usize - 1;
/// Behind so many bytes without an end actix-http gives a head up.
const HEAD_BYTES: usize = 128 << 10;
/// actix-http gives a head with more up.
const HEADERS: usize = 96;

/// The requests of a connection, as far as they came.
#[derive(Debug)]
pub(super) struct Requests {
    place: Place,
    /// A head that has not come whole. It passes when it has.
    begun: Vec<u8>,
}

/// Where in a request the next byte stands.
#[derive(Debug)]
enum Place {
    Head,
    /// So many bytes before the end of a body.
    Body {
        left: u64,
        is_last: bool,
    },
    Chunks {
        chunks: Chunks,
        is_last: bool,
    },
    /// Beyond requests: in what a connection became, or in what is none.
    Beyond,
    /// Behind the last request.
    End,
    /// Behind what stood in a chunk and may not.
    Broken,
}

/// What passes of bytes that came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Passing {
    /// The first of them, so many.
    First(usize),
    /// These in their place.
    Instead(Vec<u8>),
}

impl Requests {
    pub(super) fn new() -> Self {
        Self { place: Place::Head, begun: Vec::new() }
    }

    /// Whether the body of a request broke off: what follows is no part of it, and where the next request begins nobody knows.
    pub(super) fn are_broken(&self) -> bool {
        matches!(self.place, Place::Broken)
    }

    /// What passes of the next bytes.
    pub(super) fn follow(&mut self, bytes: &[u8]) -> Passing {
        if !self.begun.is_empty() {
            let mut both = std::mem::take(&mut self.begun);
            both.extend_from_slice(bytes);
            let (passing, more) = self.pass(&both);
            both.truncate(passing);
            both.extend(more.into_iter().flatten());
            return Passing::Instead(both);
        }
        match self.pass(bytes) {
            (passing, None) => Passing::First(passing),
            (passing, Some(more)) => Passing::Instead([&bytes[..passing], &more].concat()),
        }
    }

    /// How many of the bytes pass, and what passes behind these.
    fn pass(&mut self, bytes: &[u8]) -> (usize, Option<Vec<u8>>) {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            match &mut self.place {
                Place::Beyond => return (bytes.len(), None),
                Place::End | Place::Broken => return (at, None),
                Place::Body { left, is_last } => {
                    let passing = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    (*left, at) = (*left - passing as u64, at + passing);
                    if *left == 0 {
                        self.place = Place::behind(*is_last);
                    }
                }
                Place::Chunks { chunks, is_last } => match chunks.follow(rest) {
                    Followed::Within => return (bytes.len(), None),
                    Followed::To(end) => (self.place, at) = (Place::behind(*is_last), at + end),
                    Followed::Broken(end) => (self.place, at) = (Place::Broken, at + end),
                },
                Place::Head => match look(rest) {
                    Look::Incomplete => {
                        self.begun = rest.to_vec();
                        return (at, None);
                    }
                    Look::Unreadable => self.place = Place::Beyond,
                    Look::Overlong => {
                        self.place = Place::End;
                        let request =
                            format!("GET {OVERLONG} HTTP/1.1\r\nhost:\r\nconnection: close\r\n\r\n");
                        return (at, Some(request.into()));
                    }
                    Look::Head(length, behind) => (self.place, at) = (behind, at + length),
                },
            }
        }
        (at, None)
    }
}

impl Place {
    /// Behind a request.
    fn behind(is_last: bool) -> Self {
        if is_last { Self::End } else { Self::Head }
    }

    /// Behind the head of a request.
    fn behind_head(request: &httparse::Request<'_, '_>) -> Self {
        let is_old = request.version == Some(0);
        let (mut is_chunked, mut is_socket, mut length) = (false, false, 0);
        let mut connection = None;
        for header in &*request.headers {
            let Some(value) = text(header.value) else { continue };
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            if is("content-length") {
                length = value.parse().unwrap_or(0);
            } else if is("transfer-encoding") {
                is_chunked |= !is_old && value.eq_ignore_ascii_case("chunked");
            } else if is("upgrade") {
                is_socket |= value.eq_ignore_ascii_case("websocket");
            } else if is("connection") {
                connection = value.split(',').map(str::trim).fold(connection, After::and);
            }
        }
        let is_last = match connection {
            Some(After::Close) => true,
            Some(After::KeepAlive) => false,
            Some(After::Upgrade) | None => is_old,
        };
        match (is_chunked, length) {
            (true, _) => Self::Chunks { chunks: Chunks::default(), is_last },
            (false, _) if is_socket => Self::Beyond,
            (false, 0) if request.method == Some("CONNECT") => Self::Beyond,
            (false, 0) => Self::behind(is_last),
            (false, left) => Self::Body { left, is_last },
        }
    }
}

/// What `Connection` wants behind the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    Close,
    Upgrade,
    KeepAlive,
}

impl After {
    /// With one more of the words.
    fn and(before: Option<Self>, word: &str) -> Option<Self> {
        let is = |known: &str| word.eq_ignore_ascii_case(known);
        match before {
            Some(Self::Close) => before,
            _ if is("close") => Some(Self::Close),
            _ if is("upgrade") => Some(Self::Upgrade),
            None if is("keep-alive") => Some(Self::KeepAlive),
            _ => before,
        }
    }
}

/// The value of a header that actix-http takes for text.
fn text(value: &[u8]) -> Option<&str> {
    let is_text = value.iter().all(|byte| (b' '..=b'~').contains(byte) || *byte == b'\t');
    is_text.then(|| str::from_utf8(value).ok())?.map(str::trim)
}

/// What bytes that begin with a head are.
enum Look {
    Incomplete,
    Unreadable,
    /// Its target is too long.
    Overlong,
    /// A head of so many bytes, and what is behind it.
    Head(usize, Place),
}

fn look(bytes: &[u8]) -> Look {
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS];
    let mut request = httparse::Request::new(&mut []);
    let parsed = request.parse_with_uninit_headers(bytes, &mut headers);
    let target = match (request.method, request.path) {
        (_, Some(target)) => target.len(),
        (Some(method), None) => bytes.len().saturating_sub(method.len() + 1),
        (None, None) => 0,
    };
    match parsed {
        Err(_) => Look::Unreadable,
        Ok(_) if target > TARGET_BYTES => Look::Overlong,
        Ok(httparse::Status::Complete(length)) => Look::Head(length, Place::behind_head(&request)),
        Ok(httparse::Status::Partial) if bytes.len() >= HEAD_BYTES => Look::Unreadable,
        Ok(httparse::Status::Partial) => Look::Incomplete,
    }
}

/// A body in chunks.
#[derive(Debug, Default)]
struct Chunks {
    at: AtChunk,
    /// The size as far as it was read, then what is left of the chunk.
    size: u64,
}

/// Where in a chunk the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum AtChunk {
    #[default]
    Size,
    MoreSize,
    Blank,
    Extension,
    EndOfSize,
    Data,
    DataCr,
    DataLf,
    EndCr,
    Trailer,
    TrailerLf,
    EndLf,
    End,
}

/// What bytes of chunks are.
enum Followed {
    /// All within the body.
    Within,
    /// The body's to here.
    To(usize),
    /// What stands here may not.
    Broken(usize),
}

impl Chunks {
    fn follow(&mut self, bytes: &[u8]) -> Followed {
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            if self.at == AtChunk::Data {
                let data = usize::try_from(self.size).unwrap_or(usize::MAX).min(bytes.len() - at);
                (self.size, at) = (self.size - data as u64, at + data);
                if self.size == 0 {
                    self.at = AtChunk::DataCr;
                }
                continue;
            }
            let Some(next) = self.step(*byte) else { return Followed::Broken(at) };
            (self.at, at) = (next, at + 1);
            if next == AtChunk::End {
                return Followed::To(at);
            }
        }
        Followed::Within
    }

    /// Where the byte behind this one stands; `None` when this one may not stand there.
    fn step(&mut self, byte: u8) -> Option<AtChunk> {
        use AtChunk::*;
        let digit = char::from(byte).to_digit(16).map(u64::from);
        Some(match (self.at, byte) {
            (Size, _) => {
                self.size = digit?;
                MoreSize
            }
            (MoreSize | Blank, b' ' | b'\t') => Blank,
            (MoreSize | Blank, b';') => Extension,
            (MoreSize | Blank | Extension, b'\r') => EndOfSize,
            (MoreSize, _) => {
                self.size = self.size.checked_mul(16)? + digit?;
                MoreSize
            }
            (Extension, b'\t' | 0x20..=0x7e | 0x80..) => Extension,
            (EndOfSize, b'\n') if self.size > 0 => Data,
            (EndOfSize, b'\n') => EndCr,
            (DataCr, b'\r') => DataLf,
            (DataLf, b'\n') => Size,
            (EndCr, b'\r') => EndLf,
            (Trailer, b'\r') => TrailerLf,
            (EndCr | Trailer, _) => Trailer,
            (TrailerLf, b'\n') => EndCr,
            (EndLf, b'\n') => End,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
