//! Follows a body with chunked encoding to its end, by the rules of actix-http.

/// A body with chunked encoding.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    at: AtChunk,
    /// The chunk size as read so far, then the number of bytes that remain of the chunk.
    size: u64,
}

/// The position of the next byte within a chunk.
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

/// The result of following the bytes of a chunked body.
pub(super) enum Followed {
    /// All bytes belong to the body.
    Within,
    /// The body ends before this index.
    To(usize),
    /// The byte at this index is invalid.
    Broken(usize),
}

impl Chunks {
    pub(super) fn follow(&mut self, bytes: &[u8]) -> Followed {
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

    /// Returns the position after this byte, or `None` when the byte is invalid at the current position.
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
