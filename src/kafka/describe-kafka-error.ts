import { messageOf } from '../kernel/errors.js';
import type { KafkaSettings } from './kafka-settings.js';
import { RelayRefusedError } from './topics.js';

const CERTIFICATE = /CERT|UNABLE_TO_|ERR_TLS_/;
const AUTHORIZATION = /_AUTHORIZATION_FAILED$/;
const CLOSED = /closed connection|disconnected before secure TLS/i;

/** By error code, because the messages differ between Node versions. Other codes keep Node's message. */
const CERTIFICATE_ERRORS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'certificate has expired',
  CERT_NOT_YET_VALID: 'certificate is not yet valid',
  CERT_UNTRUSTED: 'certificate authority is not trusted',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'self-signed certificate',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate chain ends in a self-signed certificate',
  UNABLE_TO_GET_ISSUER_CERT: 'certificate of the issuer is missing',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate of the issuer is missing',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate of the issuer is missing',
};

/** Turns a socket-level error of kafkajs into one that names the settings to check. The message contains no secrets. */
export function describeKafkaError(error: unknown, settings: KafkaSettings): unknown {
  const { name, type, code } = rootOf(error);
  // Errors of the database pass through unchanged.
  if (!name?.startsWith('KafkaJS')) return error;
  const message = messageOf(error);
  if (type === 'ILLEGAL_SASL_STATE') {
    return new RelayRefusedError(
      `The brokers do not use authentication on this port (${message}). Unset KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and ` +
        'KAFKA_SASL_PASSWORD, or set KAFKA_BROKERS to the port that does.',
    );
  }
  if (name === 'KafkaJSSASLAuthenticationError' || type === 'UNSUPPORTED_SASL_MECHANISM') {
    return new RelayRefusedError(
      `The brokers rejected the credentials (${message}). Check KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and ` +
        'KAFKA_SASL_PASSWORD.',
    );
  }
  if (AUTHORIZATION.test(String(type))) {
    return new RelayRefusedError(
      `The brokers deny the user what the relay needs (${type}). Grant the ACLs of docs/kafka.md for the prefix ` +
        `${settings.kafkaTopicPrefix}, or check KAFKA_TOPIC_PREFIX and KAFKA_SASL_USERNAME.`,
    );
  }
  if (CERTIFICATE.test(String(code))) {
    return new RelayRefusedError(
      `The brokers' certificate is not trusted (${code}: ${CERTIFICATE_ERRORS[String(code)] ?? message}). Set KAFKA_SSL_CA to ` +
        'a PEM file with the authority that signed it, and use the host names of the certificate in KAFKA_BROKERS.',
    );
  }
  if (CLOSED.test(message)) {
    const tls = settings.kafkaSsl ? 'with TLS' : 'without TLS';
    const user = settings.kafkaSaslMechanism ? 'with a user' : 'without a user';
    return new Error(
      `${message}. If the broker is running: the connection was made ${tls} (KAFKA_SSL) and ${user} (KAFKA_SASL_…), and this ` +
        'port may require something else.',
    );
  }
  return error;
}

/** kafkajs wraps the original error when its retries are exhausted, and those of several topics in one. */
function rootOf(error: unknown): { name?: string; type?: string; code?: unknown } {
  let root = error;
  while (root instanceof Error && (root.cause || 'errors' in root))
    root = root.cause ?? (root as unknown as { errors: unknown[] }).errors[0];
  return root ?? {};
}
