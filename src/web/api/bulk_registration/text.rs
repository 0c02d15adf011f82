//! The encoding of a file: UTF-8, or Windows-1252 when it is not valid UTF-8 (N-10).

use std::borrow::Cow;

use encoding_rs::WINDOWS_1252;

/// The encoding of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Windows1252,
}

/// Checks bytes as they arrive: a file is valid UTF-8 as a whole or not at all.
#[derive(Debug, Default)]
pub(super) struct Utf8Check {
    /// The first bytes of a character whose last bytes have not arrived yet.
    begun: Vec<u8>,
    refuted: bool,
}

/// The line ends of a file, whichever of the two characters ends its lines.
#[derive(Default)]
pub(super) struct LineEnds {
    feeds: usize,
    returns: usize,
}

impl LineEnds {
    pub(super) fn look_at(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.feeds += usize::from(*byte == b'\n');
            self.returns += usize::from(*byte == b'\r');
        }
    }

    /// Returns the number of complete lines.
    pub(super) fn lines(&self) -> usize {
        self.feeds.max(self.returns)
    }
}

impl Utf8Check {
    pub(super) fn look_at(&mut self, mut bytes: &[u8]) {
        while !self.refuted && !self.begun.is_empty() && !bytes.is_empty() {
            self.begun.push(bytes[0]);
            bytes = &bytes[1..];
            match std::str::from_utf8(&self.begun) {
                Ok(_) => self.begun.clear(),
                Err(error) => self.refuted = error.error_len().is_some(),
            }
        }
        if self.refuted || bytes.is_empty() {
            return;
        }
        if let Err(error) = std::str::from_utf8(bytes) {
            self.refuted = error.error_len().is_some();
            self.begun = bytes[error.valid_up_to()..].to_vec();
        }
    }

    /// Returns the encoding, at the end of the file.
    pub(super) fn encoding(self) -> Encoding {
        if self.refuted || !self.begun.is_empty() { Encoding::Windows1252 } else { Encoding::Utf8 }
    }
}

impl Encoding {
    /// Decodes a part of the file. Parts are cut at ASCII characters, so a part of a UTF-8 file is valid
    /// UTF-8.
    pub(super) fn decode(self, bytes: &[u8]) -> Cow<'_, str> {
        match self {
            Self::Utf8 => String::from_utf8_lossy(bytes),
            Self::Windows1252 => WINDOWS_1252.decode_without_bom_handling(bytes).0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoding<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Encoding {
        let mut check = Utf8Check::default();
        parts.into_iter().for_each(|part| check.look_at(part));
        check.encoding()
    }

    #[test]
    fn characters_may_be_cut_anywhere() {
        let text = "aé€😀z".as_bytes();
        for cut in 0..=text.len() {
            for other in cut..=text.len() {
                let parts = [&text[..cut], &text[cut..other], &text[other..]];
                assert_eq!(encoding(parts), Encoding::Utf8, "{cut} {other}");
            }
        }
        for cut in [2, 4, 5, 7, 8, 9] {
            assert_eq!(encoding([&text[..cut]]), Encoding::Windows1252, "{cut}");
        }
    }

    #[test]
    fn text_that_is_not_utf_8_is_read_as_windows_1252() {
        let text = b"M\xfcller \x80";
        assert_eq!(encoding([&text[..]]), Encoding::Windows1252);
        assert_eq!(Encoding::Windows1252.decode(text), "Müller €");
    }

    proptest::proptest! {
        #[test]
        fn parts_decide_as_the_whole_does(bytes in proptest::collection::vec(0_u8.., 0..40), cut in 1_usize..8) {
            let whole = std::str::from_utf8(&bytes).is_ok();
            proptest::prop_assert_eq!(encoding(bytes.chunks(cut)) == Encoding::Utf8, whole);
        }
    }
}
