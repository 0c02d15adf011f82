//! A microservice without an address, that is unreachable, or that does not use HTTP.

use super::*;

#[tokio::test]
async fn microservice_without_an_address_is_503_and_says_so() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    create_microservice(&admin, "rules").await;

    let answer = admin.get("/service/rules/x").await;

    assert_eq!((answer.status, answer.header("Retry-After")), (503, Some("5")));
    assert_eq!(answer.error(), "general/Service Unavailable");
    assert_eq!(answer.message(), "The microservice 'rules' has no address; the operator sets it");
}

#[tokio::test]
async fn microservice_that_nobody_listens_for_is_503_and_its_address_stays_a_secret() {
    let behind = Behind::start().await;
    let Behind { server, listener, .. } = behind;
    let address = listener.local_addr().unwrap();
    drop(listener);

    let answer = server.admin().get("/service/rules/x").await;

    assert_eq!((answer.status, answer.header("Retry-After")), (503, Some("5")));
    assert_eq!(answer.message(), "The microservice 'rules' cannot be reached");
    assert!(!answer.text.contains(&address.port().to_string()), "{}", answer.text);
}

#[tokio::test]
async fn host_that_has_no_address_is_503() {
    let behind = Behind::start().await;
    let address = Some("http://there-is-no-such-host.invalid:1");
    route(behind.server.database(), "rules", address).await.unwrap();

    assert_eq!(behind.server.admin().get("/service/rules/x").await.status, 503);
}

#[tokio::test]
async fn response_that_is_not_http_is_502() {
    let behind = Behind::in_turn().await;
    let long = format!("HTTP/1.1 200 OK\r\nX-Long: {}\r\n\r\n", "x".repeat(200 << 10));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X-Many: x\r\n".repeat(200));

    for answer in [
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nNo Colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\r\n folded\r\n\r\n",
        &long,
        &many,
    ] {
        let request = behind.server.admin().request("POST", "/service/rules/x");
        let service = async {
            let (connection, _) = behind.asked().await;
            let mut stream = connection.into_stream();
            // The platform may have closed the connection before it read everything.
            tokio::io::AsyncWriteExt::write_all(&mut stream, answer.as_bytes()).await.ok();
            stream
        };
        let (_stream, shown) = tokio::join!(service, request.send());
        let begin: String = answer.chars().take(40).collect();
        assert_eq!((shown.status, shown.error()), (502, "general/Bad Gateway".into()), "{begin}");
        assert_eq!(shown.message(), "The microservice 'rules' sent an invalid response");
    }
}

#[tokio::test]
async fn switch_of_protocols_that_nobody_asked_for_is_502() {
    let behind = Behind::in_turn().await;
    let request = behind.server.admin().request("GET", "/service/rules/x");

    let answer = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello";
    let (_, answer) = behind.answered(request, answer).await;

    assert_eq!(answer.status, 502);
}

#[tokio::test]
async fn connection_that_ends_without_a_response_is_502() {
    let (behind, admin) = Behind::in_turn().await.with_admin();

    let service = async {
        // A call that changes nothing is tried twice.
        for _ in 0..2 {
            drop(behind.asked().await);
        }
    };
    let ((), answer) = tokio::join!(service, admin.get("/service/rules/x"));

    assert_eq!(answer.status, 502);
}

#[tokio::test]
async fn new_address_is_followed_at_once_by_every_server() {
    const MOVED: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nmoved";
    let Behind { server, listener, .. } = Behind::start().await;
    let second = TestServer::start_on(&server.shared_database(), |_| {}).await;
    let elsewhere = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", elsewhere.local_addr().unwrap());
    tokio::spawn(answer_all(listener, OK));
    tokio::spawn(answer_all(elsewhere, MOVED));
    let text = async |server: &TestServer| server.admin().get("/service/rules/x").await.text;
    assert_eq!([text(&server).await, text(&second).await], ["ok", "ok"]);

    route(server.database(), "rules", Some(&address)).await.unwrap();

    for server in [&server, &second] {
        until("the new address", async || text(server).await == "moved").await;
    }
}
