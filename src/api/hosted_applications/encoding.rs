//! The choice of the form of a file that is sent: as it is, or compressed if the application provides that
//! form and the client accepts it.

use actix_web::http::header::{self, HeaderMap};
use platform_store::applications::versions::ApplicationFile;

use crate::hosted_files::Place;

/// Returns the form to send and its `Content-Encoding`: the one the client prefers, and the smallest of those
/// it prefers equally.
pub(super) fn choose<'p>(
    headers: &HeaderMap,
    place: &'p Place,
) -> (&'p ApplicationFile, Option<&'static str>) {
    let accepted = Accepted::of(headers);
    let packed = [(&place.gzip, "gzip"), (&place.brotli, "br")];
    let mut best = (accepted.identity(), &place.file, None);
    for (file, name) in packed {
        let (Some(file), weight) = (file, accepted.weight_of(name)) else { continue };
        if weight > 0 && weight >= best.0 {
            best = (weight, file, Some(name));
        }
    }
    (best.1, best.2)
}

/// Returns whether the client takes a text that is compressed with gzip at least as gladly as the text itself.
pub(in crate::api) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = Accepted::of(headers);
    let weight = accepted.weight_of("gzip");
    weight > 0 && weight >= accepted.identity()
}

/// The encodings that the client accepts, with their weights in thousandths.
struct Accepted(Vec<(String, u16)>);

impl Accepted {
    fn of(headers: &HeaderMap) -> Self {
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

    /// Returns the weight of a compressed form: zero, unless it is named or everything is accepted.
    fn weight_of(&self, name: &str) -> u16 {
        let alias = (name == "gzip").then(|| self.named("x-gzip")).flatten();
        self.named(name).or(alias).or_else(|| self.named("*")).unwrap_or(0)
    }

    /// Returns the weight of the uncompressed file. Unless it is named, every accepted compressed form is
    /// preferred to it; a client that accepts nothing gets it all the same.
    fn identity(&self) -> u16 {
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

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    fn file(path: &str) -> ApplicationFile {
        let (path, content_type) = (path.to_owned(), String::new());
        ApplicationFile { path, content_type, sha256: Vec::new(), start: 0, length: 0 }
    }

    #[test]
    fn form_is_the_best_liked_of_those_there_are() {
        let place = Place {
            file: file("x"),
            brotli: Some(file("x.br")),
            gzip: Some(file("x.gz")),
            is_directory: false,
        };
        for (accepted, path, encoding) in [
            (None, "x", None),
            (Some(""), "x", None),
            (Some("gzip, deflate, br"), "x.br", Some("br")),
            (Some("gzip"), "x.gz", Some("gzip")),
            (Some("X-GZIP"), "x.gz", Some("gzip")),
            (Some("br;q=0.5, gzip;q=0.8"), "x.gz", Some("gzip")),
            (Some("br;q=0"), "x", None),
            (Some("*"), "x.br", Some("br")),
            (Some("*;q=0.1, br; q=0"), "x.gz", Some("gzip")),
            (Some("identity, gzip;q=0.5"), "x", None),
            (Some("identity;q=0.2, gzip;q=0.5"), "x.gz", Some("gzip")),
            (Some("identity;q=0, deflate"), "x", None),
            (Some("br;q=nonsense"), "x", None),
            (Some("br;q=NaN"), "x", None),
            (Some("gzip;q=2"), "x", None),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(accepted) = accepted {
                headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            }
            let (chosen, given) = choose(&headers, &place);
            assert_eq!((&*chosen.path, given), (path, encoding), "{accepted:?}");
        }
    }
}
