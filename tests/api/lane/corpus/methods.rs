//! Other methods than POST, and emulated methods.

use crate::lane::pair::Pair;
use crate::lane::sample::Sample;

const METHODS: [&str; 13] = [
    "GET",
    "HEAD",
    "PUT",
    "DELETE",
    "PATCH",
    "OPTIONS",
    "TRACE",
    "BREW",
    "post",
    "Post",
    "POSTS",
    "POS",
    "P\u{d6}ST",
];

#[tokio::test]
async fn other_methods_are_refused_alike() {
    let pair = Pair::shared().await;

    for path in ["/notification/realtime", "/cep/notifications/connect", "/devicecontrol/notifications/"] {
        for method in METHODS {
            let request = Sample::to(path, "[]").line(&format!("{method} {path} HTTP/1.1"));
            pair.agree(request.clone()).await;
            pair.agree(request.without("Content-Type").unmeasured().body("")).await;
        }
    }
}

#[tokio::test]
async fn emulated_methods_count_alike() {
    let pair = Pair::shared().await;

    for method in ["POST", "GET", "get", "PUT", "DELETE", "PATCH", "BREW", "", " GET ", "GET, PUT", "\u{e4}"]
    {
        let request = Sample::idle().with(&format!("X-HTTP-METHOD: {method}"));
        pair.agree(request.clone()).await;
        pair.agree(request.without("Authorization")).await;
        pair.agree(Sample::rows("/cep/realtime", "80").with(&format!("x-http-Method: {method}"))).await;
    }
    pair.agree(Sample::idle().with("X-HTTP-METHOD: POST").with("X-HTTP-METHOD: GET")).await;
    pair.agree(Sample::idle().with("X-HTTP-METHOD: GET").with("X-HTTP-METHOD: POST")).await;
}
