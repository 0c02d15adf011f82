//! If either side disconnects, the other one is notified and never takes a partial body for a complete one.

use super::*;

/// Closes a connection and drops it.
fn close(connection: RawConnection) {
    drop(connection);
}

#[tokio::test]
async fn client_that_goes_away_ends_the_call() {
    let behind = Behind::in_turn().await;
    let half = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n";

    check_rows(
        [
            ("closed before the response", ("", close as fn(RawConnection))),
            ("reset before the response", ("", RawConnection::reset)),
            ("closed in the middle of the response", (half, close)),
        ],
        async |(begun, leave)| {
            let (mut client, mut service) = behind.called().await;
            if !begun.is_empty() {
                service.send(begun).await;
                client.read_until("half").await;
            }
            leave(client);
            assert_eq!(service.read_to_end().await, "");
        },
    )
    .await;
    behind.hears_nothing_of_what_was_before().await;
}

#[tokio::test]
async fn client_that_breaks_off_its_body_makes_no_whole_request() {
    let behind = Behind::in_turn().await;
    for (framing, part, end) in
        [("Content-Length: 8", "half", "half"), ("Transfer-Encoding: chunked", "4\r\nhalf\r\n", "half\r\n")]
    {
        let (mut client, lines) = behind.client().await;
        client.send(format!("POST /service/rules/x HTTP/1.1\r\n{lines}{framing}\r\n\r\n{part}")).await;
        let mut service = behind.accept().await;
        let came = service.read_until("half").await;

        close(client);

        let came = came + &service.read_to_end().await;
        assert!(came.ends_with(end), "no end of the body came: {came:?}");
    }
}

#[tokio::test]
async fn service_that_breaks_off_leaves_the_client_with_a_broken_response() {
    let behind = Behind::in_turn().await;
    for (framing, part) in [("Content-Length: 8", "half"), ("Transfer-Encoding: chunked", "4\r\nhalf\r\n")] {
        let (mut client, mut service) = behind.called().await;
        service.send(format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n{part}")).await;
        let came = client.read_until("half").await;

        close(service);

        let came = came + &client.read_to_end().await;
        assert!(!came.contains("0\r\n\r\n"), "no end of the body came: {came:?}");
        assert_eq!(came.matches("half").count(), 1, "{came:?}");
    }
}

#[tokio::test]
async fn service_that_sends_rubbish_between_chunks_leaves_the_client_with_a_broken_response() {
    let behind = Behind::in_turn().await;
    let (mut client, mut service) = behind.called().await;

    service.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nrubbish\r\n").await;

    let came = client.read_to_end().await;
    assert!(came.contains("half") && !came.contains("0\r\n\r\n"), "{came:?}");
}

#[tokio::test]
async fn bytes_behind_the_response_of_a_service_reach_nobody() {
    let (behind, admin) = Behind::in_turn().await.with_admin();
    let forged = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged";

    let (_, first) =
        behind.answered(admin.request("GET", "/service/rules/1"), &format!("{KEPT}{forged}")).await;
    let head = behind.heard(admin.request("GET", "/service/rules/2")).await;

    assert_eq!((&*first.text, head.starts_with("GET /2 ")), ("ok", true), "{head}");
}
