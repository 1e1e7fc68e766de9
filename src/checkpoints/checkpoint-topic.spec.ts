import { generateKeyPairSync } from 'node:crypto';
import { type CloudEvent, Kafka, type KafkaMessage } from 'cloudevents';
import { signCheckpoint } from './checkpoint.js';
import { toMessage } from './checkpoint-topic.js';

describe('a checkpoint on its topic', () => {
  const { privateKey } = generateKeyPairSync('ed25519');
  const key = { id: 'k', privateKey, publicKey: '' };
  const time = '2026-03-01T10:00:00.000Z';
  const token = signCheckpoint(key, { cell: 'eu', position: 42, head: 'ab'.repeat(32), time });

  it('is a CloudEvent whose data is the signed text', () => {
    const message = toMessage(token, 'eu') as KafkaMessage;
    const event = Kafka.toEvent(message) as CloudEvent<string>;
    expect(event).toMatchObject({
      type: 'log.checkpoint.v1',
      source: '/clean-conversions/eu',
      time,
      sequence: '42',
      datacontenttype: 'application/jose',
      data: token,
    });
  });

  it('has the same id when it is published again', () => {
    expect(toMessage(token, 'eu').headers).toEqual(toMessage(token, 'eu').headers);
  });
});
