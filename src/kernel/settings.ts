import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { addressRanges } from './addresses.js';
import { parseDurationMs } from './durations.js';
import { messageOf, UserError } from './errors.js';

/** Everything that can be set, read from the environment once. A value that does not parse stops the start, by name. */
export type Settings = ReturnType<typeof readSettings>;

/** What it is injected as. */
export const SETTINGS = Symbol('settings');

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
const DAY_MS = 24 * 60 * 60 * 1_000;
const MAX_DEDUP_WINDOW_MS = 30 * DAY_MS;

export function readSettings(environment: NodeJS.ProcessEnv) {
  const read = <Value>(name: string, fallback: string, parse: (text: string) => Value): Value => {
    const text = environment[name] || fallback;
    try {
      return parse(text);
    } catch (error) {
      throw new UserError(`${name}: ${messageOf(error)}`);
    }
  };
  const optional = <Value>(name: string, parse: (text: string) => Value): Value | undefined =>
    environment[name] ? read(name, '', parse) : undefined;

  const settings = {
    port: read('PORT', '8080', wholeNumber(0, 65_535)),
    host: read('HOST', '127.0.0.1', String),
    dataDir: read('DATA_DIR', '.data', (text) => resolve(text)),
    databaseUrl: optional('DATABASE_URL', postgresUrl),
    tlsCert: optional('TLS_CERT', readPem),
    tlsKey: optional('TLS_KEY', readPem),
    trustedProxies: read('TRUSTED_PROXIES', '', addressRanges),
    operationsFrom: read('OPERATIONS_FROM', '', addressRanges),
    secretKey: optional('SECRET_KEY', secretKey),
    secretKeyPrevious: optional('SECRET_KEY_PREVIOUS', secretKey),
    logLevel: read('LOG_LEVEL', 'info', oneOf(LOG_LEVELS)),
    authFailureLimit: read('AUTH_FAILURE_LIMIT', '20', wholeNumber(1, 10_000)),
    authFailureWindowMs: read('AUTH_FAILURE_WINDOW', '15m', parseDurationMs),
    maxBodyBytes: read('MAX_BODY_BYTES', '65536', wholeNumber(1, 16 * 1024 * 1024)),
    dedupWindowMs: read('DEDUP_WINDOW', '24h', dedupWindowMs),
    inboundDeadlineMs: read('INBOUND_DEADLINE', '8s', parseDurationMs),
    botList: optional('BOT_LIST', (text) => resolve(text)),
    logRetentionMs: optional('LOG_RETENTION', parseDurationMs),
    deliveryRetryScheduleMs: read('DELIVERY_RETRY_SCHEDULE', '30s,2m,10m,30m,1h,2h,4h', durations),
    deliveryGiveUpMs: read('DELIVERY_GIVE_UP', '7d', parseDurationMs),
    confirmationPollMs: read('CONFIRMATION_POLL', '30m', parseDurationMs),
    outboundEveryMs: read('OUTBOUND_EVERY', '15m', outboundEveryMs),
    outboundTimeoutMs: read('OUTBOUND_TIMEOUT', '10s', outboundTimeoutMs),
    outboundRetryScheduleMs: read('OUTBOUND_RETRY_SCHEDULE', '5s,5m,30m,2h,5h,10h', durations),
    outboundDisableAfterMs: read('OUTBOUND_DISABLE_AFTER', '5d', parseDurationMs),
    outboundAllowPrivate: read('OUTBOUND_ALLOW_PRIVATE', 'false', oneOf(['true', 'false'])) === 'true',
    identifierTtlMs: read('IDENTIFIER_TTL', '90d', parseDurationMs),
    collectRate: read('COLLECT_RATE', '20', wholeNumber(1, 100_000)),
    collectBurst: read('COLLECT_BURST', '100', wholeNumber(1, 1_000_000)),
    countryHeader: optional('COUNTRY_HEADER', headerName),
    erasureList: optional('ERASURE_LIST', (text) => resolve(text)),
    cell: read('CELL', 'local', plainName),
    kafkaBrokers: optional('KAFKA_BROKERS', brokers),
    kafkaTopicPrefix: read('KAFKA_TOPIC_PREFIX', 'cc.', plainName),
    kafkaPartitions: read('KAFKA_PARTITIONS', '6', wholeNumber(1, 1_000)),
    kafkaRetentionMs: read('KAFKA_RETENTION', '30d', parseDurationMs),
    kafkaSsl: read('KAFKA_SSL', 'false', oneOf(['true', 'false'])) === 'true',
    kafkaSslCa: optional('KAFKA_SSL_CA', readPem),
    kafkaSaslMechanism: optional('KAFKA_SASL_MECHANISM', oneOf(['plain', 'scram-sha-256', 'scram-sha-512'])),
    kafkaSaslUsername: optional('KAFKA_SASL_USERNAME', String),
    kafkaSaslPassword: optional('KAFKA_SASL_PASSWORD', String),
    demoPlatforms: read('DEMO_PLATFORMS', 'true', oneOf(['true', 'false'])) === 'true',
  };
  if (!settings.tlsCert !== !settings.tlsKey)
    throw new UserError('TLS_CERT and TLS_KEY go together: set both, or neither.');
  const sasl = [settings.kafkaSaslMechanism, settings.kafkaSaslUsername, settings.kafkaSaslPassword];
  if (sasl.some(Boolean) && !sasl.every(Boolean)) {
    throw new UserError(
      'KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD go together: set all three, or none.',
    );
  }
  if (settings.kafkaSslCa && !settings.kafkaSsl) {
    throw new UserError('KAFKA_SSL_CA means nothing without TLS: set KAFKA_SSL to true as well.');
  }
  if (settings.databaseUrl && !settings.secretKey) {
    throw new UserError(
      'SECRET_KEY is required with DATABASE_URL: it seals what is secret in the database. Make one with ' +
        `"node -p \\"crypto.randomBytes(32).toString('hex')\\"" and keep it as safe as the database itself.`,
    );
  }
  // Beside the embedded server's data, not in it: a backup of the database must not hold it.
  return { ...settings, erasureList: settings.erasureList ?? resolve(settings.dataDir, 'erasures') };
}

/** A site's own window obeys the same bounds. */
export function dedupWindowMs(text: string): number {
  const ms = parseDurationMs(text);
  if (ms > MAX_DEDUP_WINDOW_MS) throw new Error(`"${text}" is too long: 0s to 30d`);
  return ms;
}

function outboundEveryMs(text: string): number {
  const ms = parseDurationMs(text);
  if (ms < 1_000 || ms > DAY_MS) throw new Error(`"${text}" is out of range: 1s to 24h`);
  return ms;
}

function outboundTimeoutMs(text: string): number {
  const ms = parseDurationMs(text);
  if (ms < 100 || ms > 60_000) throw new Error(`"${text}" is out of range: 100ms to 60s`);
  return ms;
}

/** With commas; the last one repeats. */
function durations(text: string): number[] {
  const list = text.split(',').map(parseDurationMs);
  if (list.some((ms) => ms === 0)) throw new Error(`"${text}" has a wait of nothing in it`);
  return list;
}

/** As Kafka allows in names of topics; names of our own keep to it too. */
function plainName(text: string): string {
  if (!/^[A-Za-z0-9._-]{1,100}$/.test(text)) {
    throw new Error(`"${text}" is not a name of at most 100 letters, digits, dots, dashes and underscores`);
  }
  return text;
}

function brokers(text: string): string[] {
  return text.split(',').map((part) => {
    const [, port] = /^[A-Za-z0-9._-]+:(\d{1,5})$/.exec(part.trim()) ?? [];
    if (port === undefined || Number(port) > 65_535) throw new Error(`"${part}" is not host:port`);
    return part.trim();
  });
}

function wholeNumber(least: number, most: number) {
  return (text: string): number => {
    const number = Number(text);
    if (!/^\d+$/.test(text) || number < least || number > most) {
      throw new Error(`"${text}" is not a whole number from ${least} to ${most}`);
    }
    return number;
  };
}

function oneOf<Value extends string>(values: readonly Value[]) {
  return (text: string): Value => {
    if (!values.includes(text as Value)) throw new Error(`"${text}" is not one of ${values.join(', ')}`);
    return text as Value;
  };
}

function headerName(text: string): string {
  if (!/^[\w-]+$/.test(text)) throw new Error(`"${text}" is not the name of a header`);
  return text.toLowerCase();
}

export function secretKey(text: string): Buffer {
  // The value itself is never repeated in a message.
  if (!/^[0-9a-f]{64}$/i.test(text)) throw new Error('must be 64 hexadecimal characters');
  return Buffer.from(text, 'hex');
}

function postgresUrl(text: string): string {
  if (!/^postgres(ql)?:\/\//.test(text)) throw new Error('must begin with postgres://');
  return text;
}

function readPem(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`the file cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}
