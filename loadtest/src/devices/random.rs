//! Random texts for passwords and names.

/// Returns random Latin letters and digits.
pub(crate) fn text(length: usize) -> String {
    (0..length).map(|_| fastrand::alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_differ_and_contain_only_letters_and_digits() {
        let texts = [text(20), text(20)];
        assert_ne!(texts[0], texts[1]);
        assert!(texts.iter().all(|text| text.len() == 20 && text.bytes().all(|b| b.is_ascii_alphanumeric())));
    }
}
