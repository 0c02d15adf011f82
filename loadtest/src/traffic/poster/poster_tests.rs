//! Tests of the poster: it must evaluate responses to rows line by line, and count their traffic.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::ledger::Watch;
use crate::target::Reach;

/// Responds to one request after the other with these bodies; returns the requests.
async fn serve(listener: TcpListener, bodies: &'static [&'static str]) -> Vec<String> {
    let (mut stream, _) = listener.accept().await.unwrap();
    let (mut requests, mut buffer) = (Vec::new(), [0; 4096]);
    for body in bodies {
        let length = stream.read(&mut buffer).await.unwrap();
        requests.push(String::from_utf8_lossy(&buffer[..length]).into_owned());
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
    }
    requests
}

async fn server(bodies: &'static [&'static str]) -> (Arc<Target>, tokio::task::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let target = Arc::new(Target::resolve(&url, Reach::Loopback, "a", "b").unwrap());
    (target, tokio::spawn(serve(listener, bodies)))
}

#[tokio::test]
async fn rows_without_a_line_are_acknowledged_and_those_with_one_are_not() {
    let (target, server) = server(&["", "50,2,422\n", "50,2,422\n"]).await;
    let run = Arc::new(Run::new(1));
    let receiver = run.add_receiver(Watch::All);
    let headers: Arc<str> = "Accept: */*\r\n".into();
    let mut poster = Poster::new(&target, &run, 0).with(Kind::StaticRows(2), &headers);
    for outcome in [Outcome::Acknowledged, Outcome::Refused, Outcome::Refused] {
        assert_eq!(poster.post(0, "208", 0).await, outcome);
    }

    let requests = server.await.unwrap();
    assert!(requests[0].ends_with("\r\n\r\n200,lt_Temperature,T,0,C\n200,lt_Temperature,T,1,C\n"));
    assert!(!requests[0].contains("Content-Type"), "{}", requests[0]);
    let responses = poster.responses;
    assert_eq!((responses.by_status[CLEAN], responses.by_status["200 50,*,422"]), (1, 2));
    // One line of each kind is shown.
    assert_eq!((responses.failures(), responses.lines), (2, vec!["50,2,422".to_owned()]));
    // Only acknowledged posts are measured.
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".len() as u64;
    assert_eq!(responses.traffic, Traffic { sent: requests[0].len() as u64, received: head });
    assert_eq!(responses.latency.len(), 1);

    // Rows 3 and 5 were rejected; they must be absent, and the others present.
    run.found(receiver, 0, [0, 1, 2, 4].map(|n| run.mark_of(0, n)).into());
    let audit = run.audit();
    assert!(audit.is_clean(), "{audit:?}");
    assert_eq!((audit.acknowledged, audit.delivered), (4, 4));
}

#[tokio::test]
async fn device_is_named_by_its_sender_and_only_beside_rows() {
    for (kind, is_named) in [(Kind::StaticRows(1), true), (Kind::Reading, false)] {
        let (target, server) = server(&[""]).await;
        let own = Arc::new(target.with_user("main/device_7", "c"));
        let sender = Sender { target: Arc::clone(&own), headers: "X-Device-Id: 7\r\n".to_owned() };
        let run = Arc::new(Run::new(1));
        let mut poster = Poster::new(&target, &run, 0).with(kind, &"".into()).from(&Arc::new(vec![sender]));
        poster.post(0, "208", 0).await;
        let request = server.await.unwrap().remove(0);
        assert!(request.contains(own.authorization()), "{request}");
        assert_eq!(request.contains("X-Device-Id: 7\r\n"), is_named, "{request}");
    }
}
