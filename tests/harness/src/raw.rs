//! A connection for bytes that no client library sends.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::rest::{Caller, Response};
use super::{soon, until};

/// Waits until the server's operating system has processed the close or reset of the client. On a busy machine, this
/// packet may be processed after a later one of another connection.
pub async fn until_the_server_knows((client, server): (SocketAddr, SocketAddr)) {
    const ESTABLISHED: &str = "01";
    let end = |address: SocketAddr| format!(":{:04X}", address.port());
    until("the end of a connection", async || {
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let established =
            table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).any(|columns| {
                columns[1].ends_with(&end(server))
                    && columns[2].ends_with(&end(client))
                    && columns[3] == ESTABLISHED
            });
        !established
    })
    .await;
}

/// A TCP connection to a server.
#[derive(Debug)]
pub struct RawConnection(TcpStream);

impl RawConnection {
    /// Connects.
    pub async fn open(address: SocketAddr) -> Self {
        let stream = soon("a connection", TcpStream::connect(address)).await.unwrap();
        // Parts that are sent separately must arrive separately.
        stream.set_nodelay(true).unwrap();
        Self(stream)
    }

    /// Returns a connection that was opened to the test.
    pub fn accepted(stream: TcpStream) -> Self {
        Self(stream)
    }

    /// Connects with the smallest receive buffer the system allows, for a client that reads slowly.
    pub async fn open_narrow(address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(1).unwrap();
        Self(soon("a connection", socket.connect(address)).await.unwrap())
    }

    /// Sends bytes.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        soon("room for bytes", self.0.write_all(bytes.as_ref())).await.unwrap();
    }

    /// Sends bytes to a peer that may have closed the connection.
    pub async fn try_send(&mut self, bytes: impl AsRef<[u8]>) {
        soon("room for bytes", self.0.write_all(bytes.as_ref())).await.ok();
    }

    /// Sends one HTTP request with a body; `head` has its lines except Content-Length.
    pub async fn request(&mut self, head: &[&str], body: &str) {
        let lines = head.join("\r\n");
        self.send(format!("{lines}\r\nContent-Length: {}\r\n\r\n{body}", body.len())).await;
    }

    /// Reads until this text has arrived; returns everything that arrived.
    pub async fn read_until(&mut self, text: &str) -> String {
        let mut came = String::new();
        while !came.contains(text) {
            let piece = self.read_some().await;
            assert!(!piece.is_empty(), "the connection ended before {text:?} came: {came:?}");
            came.push_str(&piece);
        }
        came
    }

    /// Reads available bytes, at most `most`; none at the end of the connection.
    pub async fn read_at_most(&mut self, most: usize) -> Vec<u8> {
        let mut buffer = vec![0; most];
        let count = soon("bytes", self.0.read(&mut buffer)).await.unwrap_or(0);
        buffer.truncate(count);
        buffer
    }

    /// Reads to the end of the connection; returns everything that arrived.
    pub async fn read_to_end(&mut self) -> String {
        let mut came = Vec::new();
        while let piece @ [_, ..] = self.read_at_most(4096).await.as_slice() {
            came.extend_from_slice(piece);
        }
        String::from_utf8_lossy(&came).into_owned()
    }

    /// Returns whether something can be read already.
    pub async fn has_something(&self) -> bool {
        tokio::time::timeout(Duration::from_millis(1), self.0.peek(&mut [0])).await.is_ok()
    }

    /// Returns the stream, for another protocol on it.
    pub fn into_stream(self) -> TcpStream {
        self.0
    }

    /// Closes the sending half of the connection, and keeps reading.
    pub async fn half_close(&mut self) {
        self.0.shutdown().await.unwrap();
    }

    /// Ends the connection by a reset, like a machine that was switched off and on.
    pub fn reset(self) {
        self.0.set_zero_linger().unwrap();
    }

    /// Returns the address of this end and that of the server.
    pub fn addresses(&self) -> (SocketAddr, SocketAddr) {
        (self.0.local_addr().unwrap(), self.0.peer_addr().unwrap())
    }

    /// Sends one request of a caller without `Accept`, which client libraries always send, and reads the
    /// response.
    pub async fn without_accept(caller: &Caller, method: &str, path: &str, body: &Value) -> Response {
        Self::of_type_without_accept(caller, method, path, "application/json", &body.to_string()).await
    }

    /// Sends a request as [`without_accept`](Self::without_accept) does, with a body of another type.
    pub async fn of_type_without_accept(
        caller: &Caller,
        method: &str,
        path: &str,
        content_type: &str,
        body: &str,
    ) -> Response {
        let authority = caller.base().strip_prefix("http://").unwrap();
        let mut connection = Self::open(authority.parse().unwrap()).await;
        let line = format!("{method} {} HTTP/1.1", path.replace("<tenant>", caller.tenant()));
        let host = format!("Host: {authority}");
        let authorization = format!("Authorization: {}", caller.authorization().unwrap());
        let content_type = format!("Content-Type: {content_type}");
        let head = [&line, &host, &authorization, &content_type, "Connection: close"];
        connection.request(&head, body).await;
        let mut answer = Vec::new();
        while let piece @ [_, ..] = connection.read_at_most(4096).await.as_slice() {
            answer.extend_from_slice(piece);
        }
        Response::read(&String::from_utf8(answer).unwrap())
    }

    async fn read_some(&mut self) -> String {
        String::from_utf8(self.read_at_most(4096).await).unwrap()
    }
}
