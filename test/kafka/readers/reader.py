# Reads topics with kafka-python and the CloudEvents SDK until it has seen a number of events:
# python reader.py brokers topics events
import json
import sys

from cloudevents.core.bindings.kafka import KafkaMessage, from_binary
from cloudevents.core.formats.json import JSONFormat
from kafka import KafkaConsumer

brokers, topics, events = sys.argv[1:]
consumer = KafkaConsumer(
    *topics.split(","),
    bootstrap_servers=brokers.split(","),
    group_id=None,
    auto_offset_reset="earliest",
    enable_auto_commit=False,
    isolation_level="read_committed",
)
for _, record in zip(range(int(events)), consumer):
    event = from_binary(KafkaMessage(headers=dict(record.headers), key=record.key, value=record.value), JSONFormat())
    attributes = event.get_attributes()
    print(json.dumps({**attributes, "time": round(attributes["time"].timestamp() * 1000), "data": event.get_data()}))
