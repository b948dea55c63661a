"""Sends a plan, consumes, or both. See docs/operations/interop.md for arguments and output."""

import base64
import os
import sys
import threading
import time

from rocketmq.client import Message, Producer, PushConsumer, SendStatus


def now_ms():
    return time.time_ns() // 1_000_000


class Events:
    """Writes what happened to standard output, one line per event, and remembers the ids."""

    def __init__(self, want):
        self.want = want
        self.ids = set()
        self.lock = threading.Lock()
        self.warm = threading.Event()
        self.full = threading.Event()

    def write(self, *columns):
        with self.lock:
            sys.stdout.write('\t'.join(str(column) for column in columns) + '\n')
            sys.stdout.flush()

    def received(self, message):
        at_ms = now_ms()
        body = message.body
        name = body.split(b'|', 1)[0].decode()
        if name == 'warmup':
            self.warm.set()
            return
        self.write(
            'received', at_ms, message.reconsume_times, text(message.tags), text(message.keys),
            text(message.get_property('interop-note')), base64.b64encode(body).decode())
        with self.lock:
            self.ids.add(name)
            if len(self.ids) == self.want:
                self.full.set()


def text(value):
    return (value or b'').decode()


def build_message(topic, columns, before_ms):
    """Returns the message and its absolute deliver time, -1 when the broker works it out."""
    _, kind, value, tag, keys, note, body = columns
    message = Message(topic)
    message.set_tags(tag)
    message.set_keys(keys)
    message.set_property('interop-note', note)
    message.set_body(body)
    deliver_ms = -1
    if kind == 'level':
        message.set_delay_time_level(int(value))
    elif kind == 'delay-sec':
        message.set_property('TIMER_DELAY_SEC', value)
    elif kind == 'delay-ms':
        message.set_property('TIMER_DELAY_MS', value)
    elif kind == 'deliver-ms':
        deliver_ms = before_ms + int(value)
        message.set_property('TIMER_DELIVER_MS', str(deliver_ms))
    elif kind != 'plain':
        raise ValueError('unknown kind ' + kind)
    return message, deliver_ms


def send_all(producer, settings, events):
    with open(settings['send'], encoding='utf-8') as plan:
        lines = plan.read().splitlines()
    for line in lines:
        columns = line.split('\t')
        before_ms = now_ms()
        message, deliver_ms = build_message(settings['topic'], columns, before_ms)
        try:
            status = producer.send_sync(message).status
            if status != SendStatus.OK:
                raise RuntimeError(f'status {status}')
            events.write('sent', columns[0], before_ms, now_ms(), deliver_ms)
        except Exception as error:  # each message is judged on its own
            events.write('failed', columns[0], ' '.join(str(error).split()))


def main():
    settings = dict(argument.split('=', 1) for argument in sys.argv[1:])
    until = time.monotonic() + int(settings['timeoutMs']) / 1000
    events = Events(int(settings['receive']))

    producer = Producer(settings['group'] + '-producer', timeout=10_000)
    producer.set_namesrv_addr(settings['nameserver'])
    producer.start()
    first = Message(settings['topic'])
    first.set_body('warmup|')
    producer.send_sync(first)

    consumer = PushConsumer(settings['group'])
    consumer.set_namesrv_addr(settings['nameserver'])
    consumer.subscribe(settings['topic'], events.received)
    consumer.start()
    events.warm.wait(until - time.monotonic())
    send_all(producer, settings, events)
    events.full.wait(max(0.0, until - time.monotonic()))
    time.sleep(int(settings['quietMs']) / 1000)  # time for what should not come
    consumer.shutdown()
    producer.shutdown()
    os._exit(0)  # the library's destructors would shut down a second time


main()
