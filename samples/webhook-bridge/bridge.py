#!/usr/bin/env python3
"""Posts the notifications of a named consumer to a webhook, in signed batches, and loses none."""

import argparse
import hashlib
import hmac
import json
import os
import sys
import time
import urllib.request

from consumer import Backoff, Consumer, Refused, Unavailable, exchange

GONE = 410
REFUSED_CONTENT = (400, 413, 415, 422)  # Other errors are those of a configuration, which somebody will mend.


class Webhook:
    def __init__(self, url, secret, timeout):
        self.url, self.secret, self.timeout = url, secret.encode(), timeout

    def post(self, content):
        """Post a body once. The signature covers its time, so that nobody can repeat it much later."""
        body, now = json.dumps(content).encode(), str(int(time.time()))
        signature = hmac.new(self.secret, now.encode() + b"." + body, hashlib.sha256).hexdigest()
        headers = {
            "Content-Type": "application/json",
            "Webhook-Timestamp": now,
            "Webhook-Signature": f"sha256={signature}",
        }
        exchange(urllib.request.Request(self.url, data=body, headers=headers, method="POST"), self.timeout)


class Bridge:
    def __init__(self, name, webhook, dead_letters, pause):
        self.name, self.webhook, self.dead_letters, self.pause = name, webhook, dead_letters, pause

    def deliver(self, notifications, missed=None):
        """Return when each notification is accepted, or is in the file of dead letters."""
        content = {"consumer": self.name, "notifications": notifications}
        if missed:
            content["missed"] = missed
        backoff = Backoff(self.pause)
        while True:
            try:
                return self.webhook.post(content)
            except Refused as failure:
                if failure.status == GONE:
                    raise
                if failure.status not in REFUSED_CONTENT:
                    backoff.wait(failure)
                elif len(notifications) > 1:
                    # One of them may be the reason, and the others have to arrive.
                    return [self.deliver([notification], missed) for notification in notifications]
                else:
                    return self.bury(content, failure)
            except Unavailable as failure:
                backoff.wait(failure)

    def bury(self, content, failure):
        """Append what the receiver refuses to the file. It is on the disk when this returns."""
        print(f"{self.webhook.url}: {failure}; see {self.dead_letters}", flush=True)
        with open(self.dead_letters, "a", encoding="utf-8") as file:
            file.write(json.dumps({**content, "refused": str(failure)}) + "\n")
            file.flush()
            os.fsync(file.fileno())


def main():
    parser = argparse.ArgumentParser(description=__doc__, epilog="Passwords: PLATFORM_PASSWORD, WEBHOOK_SECRET")
    parser.add_argument("--url", required=True, help="address of the server, such as http://127.0.0.1:8080")
    parser.add_argument("--user", required=True, help="tenant/name of the owner of the consumer")
    parser.add_argument("--consumer", required=True, help="name of the consumer")
    parser.add_argument("--to", required=True, help="address of the webhook")
    parser.add_argument("--dead-letters", default="dead-letters.jsonl", help="file for what the receiver refuses")
    parser.add_argument("--batch", type=int, default=100, help="most notifications of a request")
    parser.add_argument("--timeout", type=float, default=10, help="seconds to wait for the receiver")
    parser.add_argument("--pause", type=float, default=0.5, help="seconds until the first repetition; later ones grow")
    given = parser.parse_args()
    webhook = Webhook(given.to, os.environ["WEBHOOK_SECRET"], given.timeout)
    consumer = Consumer(given.url, given.user, os.environ["PLATFORM_PASSWORD"], given.consumer, given.pause)
    bridge = Bridge(given.consumer, webhook, given.dead_letters, given.pause)
    try:
        for batch in consumer.batches(given.batch):
            bridge.deliver(batch["notifications"], batch.get("missed"))
    except Refused as failure:
        # The receiver is gone (410), or the server refuses the user or the consumer.
        sys.exit(f"ended, because nothing more can be delivered: {failure}")


if __name__ == "__main__":
    main()
