"""The part of the NATS protocol that a publisher to JetStream needs, over one connection."""

import json
import socket
import urllib.parse
import uuid

from consumer import Refused, Unavailable

NO_RESPONDERS = "503"


class Nats:
    def __init__(self, url, timeout):
        self.url, self.timeout, self.socket = urllib.parse.urlsplit(url), timeout, None

    def connect(self):
        self.socket = socket.create_connection((self.url.hostname, self.url.port or 4222), self.timeout)
        self.reader = self.socket.makefile("rb")
        self.inbox = f"_INBOX.{uuid.uuid4().hex}"
        if not self.reader.readline().startswith(b"INFO "):
            raise Unavailable("nats: no INFO")
        options = {"verbose": False, "headers": True, "no_responders": True, "name": "bridge", "lang": "python", "version": "1"}
        if self.url.username:
            options.update(user=self.url.username, **{"pass": self.url.password or ""})
        self.socket.sendall(f"CONNECT {json.dumps(options)}\r\nSUB {self.inbox}.* 1\r\nPING\r\n".encode())
        while self.line() != b"PONG":
            pass

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None

    def line(self):
        """Return the next line of the server. Its pings are answered, and its errors raised."""
        while True:
            line = self.reader.readline()
            if not line.endswith(b"\r\n"):
                raise Unavailable("nats: the connection was closed")
            line = line[:-2]
            if line == b"PING":
                self.socket.sendall(b"PONG\r\n")
            elif line.startswith(b"-ERR"):
                raise Unavailable(f"nats: {line.decode(errors='replace')}")
            else:
                return line

    def reply(self):
        """Return the last part of the subject and the JSON of the next reply."""
        words = self.line().split()
        while not words or words[0] not in (b"MSG", b"HMSG"):
            words = self.line().split()
        headers, total = (int(words[-2]), int(words[-1])) if words[0] == b"HMSG" else (0, int(words[-1]))
        content = self.reader.read(total + 2)
        if len(content) != total + 2:
            raise Unavailable("nats: the connection was closed")
        if headers and NO_RESPONDERS in content[:headers].decode().split("\r\n")[0]:
            raise Unavailable("nats: JetStream is not available, or no stream has the subject")
        return words[1].decode().rsplit(".", 1)[1], json.loads(content[headers:total])

    def request(self, subject, content):
        """Send a request to the API of JetStream and return the JSON of the reply."""
        body = json.dumps(content).encode() if content is not None else b""
        self.socket.sendall(f"PUB {subject} {self.inbox}.api {len(body)}\r\n".encode() + body + b"\r\n")
        return self.reply()[1]

    def publish(self, messages):
        """Publish messages (id, subject, content) and return when the stream has stored each of them.

        Messages that the stream has already, by their ids, are not stored again.
        """
        text = bytearray()
        for number, (message_id, subject, content) in enumerate(messages):
            head = f"NATS/1.0\r\nNats-Msg-Id: {message_id}\r\n\r\n".encode()
            sizes = f"{len(head)} {len(head) + len(content)}"
            text += f"HPUB {subject} {self.inbox}.{number} {sizes}\r\n".encode() + head + content + b"\r\n"
        self.socket.sendall(text)
        missing = {str(number) for number in range(len(messages))}
        while missing:
            number, reply = self.reply()
            if "error" in reply:
                raise Unavailable(f"nats: {reply['error'].get('description', reply['error'])}")
            missing.discard(number)

    def ensure_stream(self, name, subjects):
        """Create the stream unless it exists."""
        known = self.request(f"$JS.API.STREAM.INFO.{name}", None)
        if known.get("error", {}).get("code") == 404:
            known = self.request(f"$JS.API.STREAM.CREATE.{name}", {"name": name, "subjects": subjects})
        if "error" in known:
            error = known["error"]
            if error.get("code", 500) >= 500:
                raise Unavailable(f"nats: {error}")
            raise Refused(error["code"], f"nats: {error.get('description', error)}")
