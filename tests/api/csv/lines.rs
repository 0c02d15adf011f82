//! Bodies, lines and their errors (S-01 to S-04).

use super::*;

#[tokio::test]
async fn invalid_row_is_a_line_of_the_response_and_other_rows_are_served() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let answer = send(&admin, "\u{feff}x,1\r\n\r\n99\n\"a\"b\n100000000000\n43\n\"1\n2").await;

    assert_eq!(
        answer,
        "42,1,Malformed Request\n43,3,Invalid message identifier\n42,4,Malformed Request\n\
         42,5,Malformed Request\n43,6,Invalid message identifier\n42,7,Malformed Request\n"
    );
}

#[tokio::test]
async fn empty_body_asks_for_templates() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (x_id, rows, answer) in [
        (None, "", "40,\"No template for this X-ID.\"\n"),
        (None, "\n\r\n", "40,\"No template for this X-ID.\"\n"),
        (None, "15,a\n15,b", "40,\"No template for this X-ID.\"\n40,\"No template for this X-ID.\"\n"),
        (Some("a"), "", "40,\"No template for this X-ID.\"\n"),
    ] {
        let answered = match x_id {
            Some(x_id) => send_to(&admin, x_id, rows).await,
            None => send(&admin, rows).await,
        };
        assert_eq!(answered, answer, "{x_id:?} {rows:?}");
    }
}

#[tokio::test]
async fn response_without_accept_is_empty_without_the_compatibility_switch() {
    let (strict, compatible) = (
        TestServer::shared().await,
        TestServer::start_with(|settings| settings.client_compatibility = true).await,
    );

    for (server, text) in [(strict, ""), (compatible, "43,1,Invalid message identifier\n")] {
        // The client library would send `Accept: */*`.
        let rows = serde_json::json!(99);
        let answer = RawConnection::without_accept(&server.admin(), "POST", "/s", &rows).await;
        assert_eq!((answer.status, answer.text.as_str()), (200, text));
    }
}

#[tokio::test]
async fn body_over_a_megabyte_is_413() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let most = request(&admin, &"\n".repeat(1 << 20)).send().await;
    let more = request(&admin, &"\n".repeat((1 << 20) + 1)).send().await;

    assert_eq!((most.status, more.status), (200, 413));
}
