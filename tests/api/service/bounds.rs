//! A microservice that hangs does not affect other requests.

use super::*;

#[tokio::test]
async fn response_that_does_not_begin_in_time_is_504() {
    let behind =
        Behind::start_with(|settings| settings.limits.service_timeout = Duration::from_secs(1)).await;
    let admin = behind.server.admin();

    let (service, answer) = tokio::join!(behind.asked(), admin.get("/service/rules/x"));

    assert_eq!((answer.status, answer.error()), (504, "general/Gateway Timeout".into()));
    assert_eq!(answer.message(), "The microservice 'rules' did not respond in time");
    let (mut connection, _) = service;
    assert_eq!(connection.read_to_end().await, "", "and the service is told that nobody waits");
}

#[tokio::test]
async fn stalled_response_is_broken_off() {
    let behind =
        Behind::start_with(|settings| settings.limits.service_timeout = Duration::from_secs(1)).await;
    let (mut client, mut service) = behind.called().await;
    service.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf").await;
    let came = client.read_to_end().await;

    assert!(came.ends_with("half"), "{came}");
    assert_eq!(service.read_to_end().await, "", "and the service is told that nobody waits");
}

#[tokio::test]
async fn upload_that_moves_is_not_given_up() {
    let behind =
        Behind::start_with(|settings| settings.limits.service_timeout = Duration::from_secs(1)).await;
    let (mut client, lines) = behind.client().await;

    client.send(format!("POST /service/rules/x HTTP/1.1\r\n{lines}Content-Length: 6\r\n\r\n")).await;
    let (mut service, _) = behind.asked().await;
    for part in ["a", "b", "c", "d", "e", "f"] {
        // All pauses together are longer than the timeout of a response, and each is shorter.
        tokio::time::sleep(Duration::from_millis(300)).await;
        client.send(part).await;
        service.read_until(part).await;
    }
    service.send(OK).await;

    assert!(client.read_until("ok").await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn calls_beyond_the_bound_are_503_and_other_microservices_are_called() {
    let behind = Behind::start_with(|settings| settings.limits.service_calls = 2).await;
    let admin = behind.server.admin();
    let other = create_microservice(&admin, "other").await;
    let address = format!("http://{}", behind.address());
    route(behind.server.database(), &other, Some(&address)).await.unwrap();
    let mut held = Vec::new();
    for _ in 0..2 {
        let (mut client, lines) = behind.client().await;
        client.send(format!("GET /service/rules/hang HTTP/1.1\r\n{lines}\r\n")).await;
        held.push((client, behind.asked().await.0));
    }

    let refused = admin.get("/service/rules/x").await;
    behind.heard(admin.request("GET", "/service/other/x")).await;

    assert_eq!((refused.status, refused.header("Retry-After")), (503, Some("5")));
    assert_eq!(refused.message(), "The microservice 'rules' has too many concurrent calls");
    drop(held);
    let (mut client, lines) = behind.client().await;
    eventually("room for a call", async || {
        client.send(format!("GET /service/rules/x HTTP/1.1\r\n{lines}\r\n")).await;
        tokio::select! {
            (mut service, _) = behind.asked() => {
                service.send(OK).await;
                Some(())
            }
            came = client.read_until("\"}") => {
                assert!(came.contains("503"), "{came}");
                None
            }
        }
    })
    .await;
}

#[tokio::test]
async fn microservice_that_hangs_holds_nobody_else_up() {
    let behind = Behind::start().await;
    let mut held: Vec<(RawConnection, RawConnection)> = Vec::new();
    for _ in 0..50 {
        let (mut client, lines) = behind.client().await;
        client.send(format!("GET /service/rules/hang HTTP/1.1\r\n{lines}\r\n")).await;
        held.push((client, behind.asked().await.0));
    }

    soon("an answer of the platform", behind.server.admin().get("/alarm/alarms")).await.expect(200);
}
