//! Handshakes that fail do not affect other clients.

use super::client::admin;
use super::*;
use crate::harness::certificates::Certificates;

#[tokio::test]
async fn slow_handshake_is_cut_off() {
    let certificates = Certificates::new();
    let limit = Duration::from_millis(200);
    let server = server_with(&certificates, |settings| settings.tls.handshake = limit).await;

    for begin in [&b""[..], &[22], &[22, 3, 1, 1, 0, 1, 0], b"GET / HTTP/1.1\r\n"] {
        let mut connection = RawConnection::open(server.address()).await;
        connection.send(begin).await;
        // `read_at_most` waits for the end, or fails.
        while !connection.read_at_most(64).await.is_empty() {}
    }
}

#[tokio::test]
async fn stop_does_not_wait_for_handshakes() {
    let certificates = Certificates::new();
    let long = Duration::from_secs(600);
    let server = server_with(&certificates, |settings| {
        (settings.tls.handshake, settings.shutdown) = (long, long);
    })
    .await;
    let mut connection = RawConnection::open(server.address()).await;
    connection.send([22, 3, 1]).await;
    // The server accepts connections in the order of their arrival, so it has accepted the earlier ones now.
    admin(&server, &certificates).await.create_device("pump").await;

    server.stop().await;

    assert_eq!(connection.read_at_most(64).await, [0; 0]);
}

#[tokio::test]
async fn garbage_and_silence_leave_the_server_responsive() {
    let certificates = Certificates::new();
    let server = server_with(&certificates, |_| {}).await;
    let admin = admin(&server, &certificates).await;

    let mut open = Vec::new();
    for n in 0..300_usize {
        let mut connection = RawConnection::open(server.address()).await;
        let garbage: Vec<u8> = (0..n * 7 % 500).map(|at| (at * n % 251) as u8).collect();
        let begin: &[u8] = [&[22, 3, 1, 2, 0][..], &[22, 3, 3, 255, 255], &[128], &[22], &[]][n % 5];
        connection.send([begin, &garbage].concat()).await;
        match n % 3 {
            0 => drop(connection),
            1 => connection.reset(),
            _ => open.push(connection),
        }
    }

    admin.create_device("pump").await;
    assert_eq!(admin.get("/inventory/managedObjects").await.status, 200);
    drop(open);
}
