"""A named consumer of notifications, read by long polls."""

import base64
import http.client
import json
import random
import time
import urllib.error
import urllib.parse
import urllib.request


class Unavailable(Exception):
    """The same attempt may succeed later."""

    def __init__(self, why, retry_after=0.0):
        super().__init__(why)
        self.retry_after = retry_after


class Refused(Exception):
    """The same attempt will not succeed later."""

    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status = status


class Backoff:
    """Pauses between attempts. They grow and have a random part, so that many programs do not return all at once."""

    def __init__(self, least=0.5, most=60.0):
        self.least, self.most, self.limit = least, most, least

    def reset(self):
        self.limit = self.least

    def wait(self, failure):
        """Wait for the next pause, no less than the other side asks for (Retry-After)."""
        pause = max(getattr(failure, "retry_after", 0.0), random.uniform(self.limit / 2, self.limit))
        self.limit = min(self.limit * 2, self.most)
        print(f"{failure}; again in {pause:.1f} s", flush=True)
        time.sleep(pause)


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirected POST would become a GET without a body, and its 200 would count as accepted."""

    def redirect_request(self, *_):
        return None


OPENER = urllib.request.build_opener(NoRedirects)


def exchange(request, timeout):
    """Send a request and return the body of its response."""
    try:
        try:
            with OPENER.open(request, timeout=timeout) as response:
                return response.read()
        except urllib.error.HTTPError as error:
            with error:
                text = error.read(2000).decode(errors="replace")
            if error.code in (408, 429) or not 400 <= error.code < 500:
                after = error.headers.get("Retry-After", "")
                pause = float(after) if after.isdigit() else 0.0
                raise Unavailable(f"{request.full_url}: {error.code}", pause) from error
            raise Refused(error.code, text) from error
    except (OSError, http.client.HTTPException) as error:
        raise Unavailable(f"{request.full_url}: {str(error) or type(error).__name__}") from error


class Consumer:
    def __init__(self, url, user, password, name, pause=0.5):
        self.pause = pause
        self.address = f"{url.rstrip('/')}/notification/consumers/{urllib.parse.quote(name, safe='')}"
        credentials = base64.b64encode(f"{user}:{password}".encode()).decode()
        self.headers = {"Authorization": f"Basic {credentials}", "Accept": "application/json"}

    def batches(self, count=100, wait=50):
        """Yield batches for ever.

        The request for the next batch acknowledges the one before, so a batch must be handled completely before the
        next one is asked for. A batch that was not acknowledged comes again, with the same positions.
        """
        acknowledged, backoff = None, Backoff(self.pause)
        while True:
            query = {"maxCount": count, "wait": wait}
            if acknowledged is not None:
                query["acknowledge"] = acknowledged
            address = f"{self.address}/notifications?{urllib.parse.urlencode(query)}"
            try:
                batch = json.loads(exchange(urllib.request.Request(address, headers=self.headers), wait + 30))
            except (Unavailable, ValueError) as failure:
                backoff.wait(failure)
                continue
            backoff.reset()
            if batch["notifications"] or not batch["recovered"]:
                yield batch
            acknowledged = batch["position"]
