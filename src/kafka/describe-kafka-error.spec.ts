import kafkajs from 'kafkajs';
import { readSettings } from '../kernel/settings/settings.js';
import { describeKafkaError } from './describe-kafka-error.js';
import { usesKafka } from './kafka-settings.js';
import { RelayRefusedError } from './topics.js';

describe('describeKafkaError', () => {
  const settings = readSettings({ KAFKA_BROKERS: '127.0.0.1:9092' });
  if (!usesKafka(settings)) throw new Error('Kafka is not configured');
  const describeConnectionError = (message: string, code: string) =>
    describeKafkaError(new kafkajs.KafkaJSConnectionError(message, { code }), settings);

  it.each([
    'Connection error: self-signed certificate',
    'Connection error: self-signed certificate; if the root CA is installed locally, try running Node.js with --use-system-ca',
  ])('describes a certificate error by its code, not by the message of Node: %s', (message) => {
    const error = describeConnectionError(message, 'DEPTH_ZERO_SELF_SIGNED_CERT') as Error;
    expect(error).toBeInstanceOf(RelayRefusedError);
    expect(error.message).toMatch(
      /is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT: self-signed certificate\)\. Set KAFKA_/,
    );
  });

  it('keeps the host names in the message of a host name mismatch', () => {
    const message = "Connection error: Host: a.example. is not in the cert's altnames: DNS:b.example";
    const error = describeConnectionError(message, 'ERR_TLS_CERT_ALTNAME_INVALID') as Error;
    expect(error.message).toContain('DNS:b.example');
  });

  it('passes other errors through', () => {
    const error = new Error('the database is unavailable');
    expect(describeKafkaError(error, settings)).toBe(error);
  });
});
