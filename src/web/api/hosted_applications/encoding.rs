//! The choice of the form of a file that is sent: as it is, or compressed if the application provides that
//! form and the client accepts it.

use actix_web::http::header::HeaderMap;
use platform_store::applications::versions::ApplicationFile;

use crate::applications::files::FilesAtPath;
use crate::http::encoding::Accepted;

/// Returns the form to send and its `Content-Encoding`: the one the client prefers, and the smallest of those
/// it prefers equally.
pub(super) fn choose<'p>(
    headers: &HeaderMap,
    place: &'p FilesAtPath,
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

#[cfg(test)]
mod tests {
    use actix_web::http::header::{self, HeaderValue};

    use super::*;

    fn file(path: &str) -> ApplicationFile {
        let (path, content_type) = (path.to_owned(), String::new());
        ApplicationFile { path, content_type, sha256: Vec::new(), start: 0, length: 0 }
    }

    #[test]
    fn form_is_the_best_liked_of_those_there_are() {
        let place = FilesAtPath {
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
