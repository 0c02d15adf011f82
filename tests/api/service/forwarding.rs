//! Method, path and query on the way there; status and body on the way back.

use super::*;

#[tokio::test]
async fn every_method_reaches_the_service() {
    let behind = Behind::in_turn().await;

    for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
        let request = behind.server.admin().request(method, "/service/rules/x");
        let answer = OK.strip_suffix(if method == "HEAD" { "ok" } else { "" }).unwrap();
        let (head, answer) = behind.answered(request, answer).await;

        assert!(head.starts_with(&format!("{method} /x HTTP/1.1\r\n")), "{head}");
        assert_eq!((answer.status, answer.header("Content-Length")), (200, Some("2")), "{method}");
    }
}

#[tokio::test]
async fn path_and_query_reach_the_service_byte_for_byte() {
    let behind = Behind::in_turn().await;
    let (mut client, lines) = behind.client().await;

    for (sent, heard) in [
        ("/service/rules", "/"),
        ("/service/rules/", "/"),
        ("//service///rules//a//b/", "/a//b/"),
        ("/service/rules/a%2Fb/%c3%a4;v=1/?q=%20+&r=/../%2e", "/a%2Fb/%c3%a4;v=1/?q=%20+&r=/../%2e"),
    ] {
        client.send(format!("GET {sent} HTTP/1.1\r\n{lines}\r\n")).await;
        let (mut service, head) = behind.asked().await;
        service.send(OK).await;

        assert!(head.starts_with(&format!("GET {heard} HTTP/1.1\r\n")), "{sent}: {head}");
        client.read_until("ok").await;
    }
}

#[tokio::test]
async fn everything_is_asked_for_below_the_base_of_the_address() {
    let behind = Behind::in_turn().await;
    behind.route_below("/v1/rules/").await;

    for (path, heard) in [("", "/v1/rules"), ("/x?y", "/v1/rules/x?y")] {
        let request = behind.server.admin().request("GET", &format!("/service/rules{path}"));
        let head = behind.heard(request).await;
        assert!(head.starts_with(&format!("GET {heard} HTTP/1.1\r\n")), "{head}");
    }
}

#[tokio::test]
async fn paths_that_lead_out_of_the_service_are_400_and_reach_nobody() {
    let behind = Behind::in_turn().await;
    behind.route_below("/base").await;
    let (mut client, lines) = behind.client().await;

    for path in [
        "..",
        "../admin",
        "a/./b",
        "%2e%2E/admin",
        "..%2fadmin",
        "..%5Cadmin",
        "..;/admin",
        "%252e%252e/admin",
    ] {
        client.send(format!("GET /service/rules/{path} HTTP/1.1\r\n{lines}\r\n")).await;
        let answer = client.read_until("\"}").await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{path}: {answer}");
    }
    behind.route_below("").await;
    behind.hears_nothing_of_what_was_before().await;
}

#[tokio::test]
async fn service_receives_the_emulated_method() {
    let (behind, admin) = Behind::in_turn().await.with_admin();

    let request = admin.request("POST", "/service/rules/x").header("X-HTTP-METHOD", "DELETE");
    let head = behind.heard(request).await;

    assert!(head.starts_with("DELETE /x HTTP/1.1\r\n"), "{head}");
    assert!(!head.to_lowercase().contains("x-http-method"), "it was carried out: {head}");
}

#[tokio::test]
async fn emulated_method_that_nobody_knows_is_405_and_reaches_nobody() {
    let (behind, admin) = Behind::in_turn().await.with_admin();

    for word in ["BREW", "HEAD", ""] {
        let request = admin.request("POST", "/service/rules/x").header("X-HTTP-METHOD", word);
        assert_eq!(request.send().await.status, 405, "{word}");
    }
    assert_eq!(admin.request("TRACE", "/service/rules/x").send().await.status, 405);
    behind.hears_nothing_of_what_was_before().await;
}

#[tokio::test]
async fn status_headers_and_body_of_the_service_come_back() {
    let behind = Behind::in_turn().await;
    let request = behind.server.admin().request("GET", "/service/rules/x");

    let answer = "HTTP/1.1 418 Short And Stout\r\nX-Pot: tea\r\nX-Pot: more\r\nContent-Type: text/plain\r\n\
        ETag: \"7\"\r\nContent-Length: 5\r\n\r\nshort";
    let (_, answer) = behind.answered(request, answer).await;

    assert_eq!((answer.status, &*answer.text), (418, "short"));
    assert_eq!(answer.header("X-Pot"), Some("tea"));
    assert_eq!((answer.header("Content-Type"), answer.header("ETag")), (Some("text/plain"), Some("\"7\"")));
}

#[tokio::test]
async fn errors_of_the_service_are_not_turned_into_errors_of_the_platform() {
    let behind = Behind::in_turn().await;

    for status in [401, 404, 405, 500, 503] {
        let request = behind.server.admin().request("GET", "/service/rules/x");
        let answer = format!("HTTP/1.1 {status} No\r\nContent-Length: 3\r\n\r\nown");
        let (_, answer) = behind.answered(request, &answer).await;
        assert_eq!((answer.status, &*answer.text), (status, "own"));
    }
}

#[tokio::test]
async fn redirects_are_passed_on_and_never_followed() {
    let behind = Behind::in_turn().await;
    let request = behind.server.admin().request("GET", "/service/rules/x");
    let elsewhere = format!("http://{}/elsewhere", behind.address());

    let answer = format!("HTTP/1.1 302 Found\r\nLocation: {elsewhere}\r\nContent-Length: 0\r\n\r\n");
    let (_, answer) = behind.answered(request, &answer).await;

    assert_eq!((answer.status, answer.header("Location")), (302, Some(&*elsewhere)));
    behind.hears_nothing_of_what_was_before().await;
}

#[tokio::test]
async fn interim_responses_stay_behind() {
    let behind = Behind::in_turn().await;
    let request = behind.server.admin().request("GET", "/service/rules/x");

    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
    let (_, answer) = behind.answered(request, &format!("{interim}{OK}")).await;

    assert_eq!((answer.status, &*answer.text, answer.header("Link")), (200, "ok", None));
}

#[tokio::test]
async fn responses_without_a_body_have_none() {
    let behind = Behind::in_turn().await;

    for head in ["204 No Content\r\n", "304 Not Modified\r\nETag: \"7\"\r\nContent-Length: 5\r\n"] {
        let request = behind.server.admin().request("GET", "/service/rules/x");
        let (_, answer) = behind.answered(request, &format!("HTTP/1.1 {head}\r\n")).await;
        assert_eq!((answer.status.to_string(), &*answer.text), (head[..3].to_owned(), ""));
    }
}

#[tokio::test]
async fn platform_responds_to_preflights() {
    let behind = Behind::in_turn().await;

    let request = behind.server.stranger().request("OPTIONS", "/service/rules/x");
    let request = request.header("Origin", "https://a.example.com");
    let answer = request.header("Access-Control-Request-Method", "PATCH").send().await.expect(200);

    let methods = answer.header("Access-Control-Allow-Methods");
    assert_eq!(methods, Some("GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS"));
    behind.hears_nothing_of_what_was_before().await;
}

#[tokio::test]
async fn connections_to_the_service_are_used_again() {
    let (behind, admin) = Behind::in_turn().await.with_admin();

    let service = async {
        let mut connection = behind.accept().await;
        for _ in 0..3 {
            connection.read_until("\r\n\r\n").await;
            connection.send(KEPT).await;
        }
        connection
    };
    let client = async {
        for _ in 0..3 {
            assert_eq!(admin.get("/service/rules/x").await.text, "ok");
        }
    };
    let (_connection, ()) =
        soon("three calls on one connection", futures_util::future::join(service, client)).await;
}

#[tokio::test]
async fn call_on_a_connection_that_the_service_closes_at_that_moment_is_made_again() {
    let (behind, admin) = Behind::in_turn().await.with_admin();

    let service = async {
        let mut connection = behind.accept().await;
        connection.read_until("\r\n\r\n").await;
        connection.send(KEPT).await;
        // The service reads the next call and closes the connection, as a service does when its keep-alive time has
        // passed.
        connection.read_until("\r\n\r\n").await;
        drop(connection);
        let (mut connection, head) = behind.asked().await;
        connection.send(OK).await;
        (connection, head)
    };
    let client = async { (admin.get("/service/rules/1").await, admin.get("/service/rules/2").await) };
    let ((_connection, head), (first, second)) = tokio::join!(service, client);

    assert_eq!((first.status, second.status), (200, 200));
    assert!(head.starts_with("GET /2 HTTP/1.1\r\n"), "{head}");
}

#[tokio::test]
async fn call_that_changes_something_is_never_made_twice() {
    let behind = Behind::in_turn().await;

    let service = async {
        let (connection, _) = behind.asked().await;
        drop(connection);
    };
    let request = behind.server.admin().request("POST", "/service/rules/x");
    let ((), answer) = tokio::join!(service, request.send());

    assert_eq!(answer.status, 502);
    behind.hears_nothing_of_what_was_before().await;
}
