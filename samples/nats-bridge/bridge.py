#!/usr/bin/env python3
"""Publishes the notifications of a named consumer to a stream of NATS JetStream, and loses none."""

import argparse
import json
import os
import sys

from consumer import Backoff, Consumer, Refused, Unavailable
from nats import Nats


def subject_of(prefix, channel):
    """Return the subject of a channel: /alarms/4711 becomes <prefix>.alarms.4711."""
    return ".".join([prefix, *channel.strip("/").split("/")])


class Bridge:
    def __init__(self, nats, stream, prefix, ids, pause):
        self.nats, self.stream, self.prefix, self.ids, self.pause = nats, stream, prefix, ids, pause

    def deliver(self, batch):
        """Return when the stream has stored every notification."""
        if not batch["recovered"]:
            print(f"missed: {batch['missed']}", file=sys.stderr, flush=True)
        messages = []
        for notification in batch["notifications"]:
            subject = subject_of(self.prefix, notification["channel"])
            # Positions belong to the tenant, so that the stream recognizes what it has from another consumer, too.
            messages.append((f"{self.ids}-{notification['position']}", subject, json.dumps(notification).encode()))
        backoff = Backoff(self.pause)
        while True:
            try:
                if self.nats.socket is None:
                    self.nats.connect()
                    self.nats.ensure_stream(self.stream, [f"{self.prefix}.>"])
                return self.nats.publish(messages)
            except (Unavailable, OSError, ValueError) as failure:
                # It is not known which of them were stored, so all are published again, with the same ids.
                self.nats.close()
                backoff.wait(failure)


def main():
    parser = argparse.ArgumentParser(description=__doc__, epilog="Password of the user: PLATFORM_PASSWORD")
    parser.add_argument("--url", required=True, help="address of the server, such as http://127.0.0.1:8080")
    parser.add_argument("--user", required=True, help="tenant/name of the owner of the consumer")
    parser.add_argument("--consumer", required=True, help="name of the consumer")
    parser.add_argument("--nats", default="nats://127.0.0.1:4222", help="address of NATS, with user:password@ if needed")
    parser.add_argument("--stream", default="PLATFORM", help="name of the stream, which is created if it is missing")
    parser.add_argument("--prefix", default="platform", help="first part of the subjects")
    parser.add_argument("--batch", type=int, default=500, help="most notifications that wait for their storage")
    parser.add_argument("--timeout", type=float, default=10, help="seconds to wait for NATS")
    parser.add_argument("--pause", type=float, default=0.5, help="seconds until the first repetition; later ones grow")
    given = parser.parse_args()
    tenant = given.user.split("/")[0] if "/" in given.user else given.consumer
    consumer = Consumer(given.url, given.user, os.environ["PLATFORM_PASSWORD"], given.consumer, given.pause)
    bridge = Bridge(Nats(given.nats, given.timeout), given.stream, given.prefix, tenant, given.pause)
    try:
        for batch in consumer.batches(given.batch):
            bridge.deliver(batch)
    except Refused as failure:
        sys.exit(f"ended, because nothing more can be delivered: {failure}")


if __name__ == "__main__":
    main()
