"""Requests to the server over one persistent connection. Each thread has a connection of its own."""

import base64
import http.client
import json
import random
import time
import urllib.parse


class Unavailable(Exception):
    """The server cannot be reached or is overloaded: the same request may succeed later."""

    def __init__(self, why, retry_after=0.0):
        super().__init__(why)
        self.retry_after = retry_after


class Refused(Exception):
    """The server rejected the request: the same request will not succeed later."""

    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status = status


class Backoff:
    """Pauses between attempts. They grow and have a random part, so that a fleet does not return all at once."""

    def __init__(self, least=1.0, most=60.0):
        self.least, self.most, self.limit = least, most, least

    def reset(self):
        self.limit = self.least

    def next(self, failure):
        """Return the next pause in seconds, no less than the server requests (Retry-After)."""
        pause = max(getattr(failure, "retry_after", 0.0), random.uniform(self.limit / 2, self.limit))
        self.limit = min(self.limit * 2, self.most)
        return pause


class Connection:
    def __init__(self, url, user, password):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url} is not the address of a server, such as http://127.0.0.1:8080")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self.http = kind(parts.hostname, parts.port)
        credentials = base64.b64encode(f"{user}:{password}".encode()).decode()
        # The response to a POST has a body only if there is an Accept header.
        self.headers = {"Authorization": f"Basic {credentials}", "Accept": "application/json"}

    def send(self, method, path, body=None, timeout=30):
        """Send a request and return the JSON of its response, None if it has none.

        A failed request may have been executed, so a request that is repeated must tolerate that.
        """
        headers, content = dict(self.headers), None
        if body is not None:
            headers["Content-Type"], content = "application/json", json.dumps(body).encode()
        response, text = self.exchange(method, path, content, headers, timeout)
        status = response.status
        if status == 429 or status >= 500:
            after = response.getheader("Retry-After", "")
            raise Unavailable(f"{method} {path}: {status}", float(after) if after.isdigit() else 0.0)
        try:
            value = json.loads(text) if text else None
        except ValueError as error:
            raise Unavailable(f"{method} {path}: {status} without JSON") from error
        if status >= 400:
            raise Refused(status, value.get("message", "") if isinstance(value, dict) else "")
        return value

    def exchange(self, method, path, content, headers, timeout):
        was_kept, begin = self.http.sock is not None, time.monotonic()
        self.http.timeout = timeout
        if was_kept:
            self.http.sock.settimeout(timeout)
        try:
            self.http.request(method, path, content, headers)
            response = self.http.getresponse()
            return response, response.read()
        except (OSError, http.client.HTTPException) as error:
            self.http.close()
            # The server closes a connection that was idle for long, which shows at once; then a new one is opened.
            closed = was_kept and isinstance(error, (ConnectionResetError, BrokenPipeError))
            if closed and time.monotonic() - begin < 1:
                return self.exchange(method, path, content, headers, timeout)
            raise Unavailable(f"{method} {path}: {str(error) or type(error).__name__}") from error

    def persist(self, method, path, body=None):
        """Send a request until the server responds to it."""
        backoff = Backoff()
        while True:
            try:
                return self.send(method, path, body)
            except Unavailable as failure:
                pause = backoff.next(failure)
                print(f"{failure}; again in {pause:.1f} s", flush=True)
                time.sleep(pause)
