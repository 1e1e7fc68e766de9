import { messageOf } from '../kernel/errors.js';
import type { KafkaSettings } from './client.js';
import { RelayRefusal } from './topics.js';

const CERTIFICATE = /CERT|UNABLE_TO_|ERR_TLS_/;
const CLOSED = /closed connection|disconnected before secure TLS/i;

/** kafkajs says what became of a socket. This says what to look at, in words that hold nothing secret. */
export function explained(error: unknown, settings: KafkaSettings): unknown {
  const { name, type, code } = rootOf(error);
  // The database may have been away instead: its words are its own.
  if (!name?.startsWith('KafkaJS')) return error;
  const said = messageOf(error);
  if (type === 'ILLEGAL_SASL_STATE') {
    return new RelayRefusal(
      `The brokers ask for no password at this port (${said}). Unset KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and ` +
        'KAFKA_SASL_PASSWORD, or name the port that does in KAFKA_BROKERS.',
    );
  }
  if (name === 'KafkaJSSASLAuthenticationError' || type === 'UNSUPPORTED_SASL_MECHANISM') {
    return new RelayRefusal(
      `The brokers do not let the user in (${said}). Check KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and ` +
        'KAFKA_SASL_PASSWORD.',
    );
  }
  if (CERTIFICATE.test(String(code))) {
    return new RelayRefusal(
      `The brokers' certificate is not trusted (${said}). Set KAFKA_SSL_CA to a PEM file with the authority that signed ` +
        'it, and name the brokers in KAFKA_BROKERS as the certificate does.',
    );
  }
  if (CLOSED.test(said)) {
    const tls = settings.kafkaSsl ? 'with TLS' : 'without TLS';
    const user = settings.kafkaSaslMechanism ? 'a user' : 'no user';
    return new Error(
      `${said}. If the broker is up: it was spoken to ${tls} (KAFKA_SSL) and given ${user} (KAFKA_SASL_…), and may expect ` +
        'something else at this port.',
    );
  }
  return error;
}

/** Under what kafkajs wraps around it when it has tried often enough. */
function rootOf(error: unknown): { name?: string; type?: string; code?: unknown } {
  let root = error;
  while (root instanceof Error && root.cause) root = root.cause;
  return root ?? {};
}
