//! The encodings that a client accepts for a response (RFC 9110, 12.5.3).

use actix_web::http::header::{self, HeaderMap};

/// Returns whether the client accepts gzip and prefers it to the uncompressed text, or has no preference.
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = Accepted::of(headers);
    let weight = accepted.weight_of("gzip");
    weight > 0 && weight >= accepted.identity()
}

/// The encodings that the client accepts, with their weights in thousandths.
pub struct Accepted(Vec<(String, u16)>);

impl Accepted {
    /// Reads the header `Accept-Encoding`.
    pub fn of(headers: &HeaderMap) -> Self {
        let given = headers.get_all(header::ACCEPT_ENCODING).filter_map(|value| value.to_str().ok());
        let items = given.flat_map(|value| value.split(',')).filter_map(|item| {
            let mut parts = item.split(';').map(str::trim);
            let name = parts.next().filter(|name| !name.is_empty())?.to_ascii_lowercase();
            let weight = parts.find_map(|part| part.strip_prefix(['q', 'Q'])?.trim_start().strip_prefix('='));
            Some((name, weight.map_or(1000, |text| thousandths(text.trim()))))
        });
        Self(items.collect())
    }

    fn named(&self, name: &str) -> Option<u16> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, weight)| *weight)
    }

    /// Returns the weight of an encoding: zero unless it is listed, or `*` is.
    pub fn weight_of(&self, name: &str) -> u16 {
        let alias = (name == "gzip").then(|| self.named("x-gzip")).flatten();
        self.named(name).or(alias).or_else(|| self.named("*")).unwrap_or(0)
    }

    /// Returns the weight of the uncompressed form. Unless it is listed, every accepted encoding is preferred to it. A
    /// client that accepts nothing gets the uncompressed form.
    pub fn identity(&self) -> u16 {
        self.named("identity").unwrap_or(1)
    }
}

/// Parses a weight; an unreadable weight is zero.
fn thousandths(text: &str) -> u16 {
    match text.parse::<f32>() {
        Ok(weight) if (0.0..=1.0).contains(&weight) => (weight * 1000.0).round() as u16,
        _ => 0,
    }
}
