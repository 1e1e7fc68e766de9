import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SIGN_IN_PLATFORMS } from '../../platforms/index.js';
import { definitionsWith, readSettings } from './settings.js';
import { settingsDocument } from './settings-document.js';

const KEY = 'ab'.repeat(32);

describe('readSettings', () => {
  it('has a default for everything', () => {
    expect(readSettings({})).toMatchObject({
      port: 8080,
      host: '127.0.0.1',
      authFailureLimit: 20,
      authFailureWindowMs: 15 * 60_000,
      maxBodyBytes: 65_536,
      maxBatchBytes: 4_194_304,
      dedupWindowMs: 24 * 60 * 60_000,
      inboundDeadlineMs: 8_000,
      logLevel: 'info',
      databaseUrl: undefined,
      logRetentionMs: undefined,
    });
  });

  it('reads OAuth apps, whose id and secret go together', () => {
    const id = { META_OAUTH_CLIENT_ID: 'app' };
    const secret = { META_OAUTH_CLIENT_SECRET: 'secret' };
    expect(readSettings({}, ['meta']).oauthApps).toEqual({});
    expect(readSettings({ ...id, ...secret }, ['meta']).oauthApps).toEqual({
      meta: { clientId: 'app', clientSecret: 'secret' },
    });
    expect(() => readSettings(id, ['meta'])).toThrow('META_OAUTH_CLIENT_ID and META_OAUTH_CLIENT_SECRET go together');
  });

  it('treats an empty value as not set', () => {
    expect(readSettings({ PORT: '', DATABASE_URL: '' })).toMatchObject({ port: 8080, databaseUrl: undefined });
  });

  it.each([
    ['PORT', '80a'],
    ['PORT', '70000'],
    ['AUTH_FAILURE_LIMIT', '0'],
    ['AUTH_FAILURE_WINDOW', '15'],
    ['MAX_BODY_BYTES', '-1'],
    ['DEDUP_WINDOW', '31d'],
    ['INBOUND_DEADLINE', 'soon'],
    ['CONFIRMATION_POLL', '9s'],
    ['LOG_RETENTION', 'never'],
    ['LOG_LEVEL', 'loud'],
    ['TRUSTED_PROXIES', '10.0.0.0/99'],
    ['OPERATIONS_FROM', 'office'],
    ['SECRET_KEY', 'short'],
    ['ADMIN_EMAIL', 'ada'],
    ['ADMIN_PASSWORD', 'too-short'],
    ['DATABASE_URL', 'mysql://x'],
    ['TLS_CERT', '/no/such/file'],
    ['CELL', 'eu west'],
    ['KAFKA_BROKERS', 'broker'],
    ['KAFKA_BROKERS', 'broker:9092,'],
    ['KAFKA_TOPIC_PREFIX', 'cc/'],
    ['KAFKA_PARTITIONS', '0'],
    ['KAFKA_RETENTION', 'long'],
    ['KAFKA_SSL', 'yes'],
    ['KAFKA_SSL_CA', '/no/such/file'],
    ['KAFKA_SASL_MECHANISM', 'oauth'],
  ])('rejects %s=%s and names the setting', (name, value) => {
    expect(() => readSettings({ SECRET_KEY: KEY, [name]: value })).toThrow(new RegExp(`^${name}: `));
  });

  it.each(['SECRET_KEY', 'ADMIN_PASSWORD'])('never repeats a secret that it rejects: %s', (name) => {
    expect(() => readSettings({ [name]: 'hunter2' })).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('hunter2') }),
    );
  });

  it('requires a secret key with DATABASE_URL and explains how to create one', () => {
    expect(() => readSettings({ DATABASE_URL: 'postgres://db/cc' })).toThrow(/SECRET_KEY is required.*randomBytes/s);
    expect(readSettings({ DATABASE_URL: 'postgres://db/cc', SECRET_KEY: KEY }).secretKey).toHaveLength(32);
  });

  it('reads one standby, whatever its password contains', () => {
    const read = (url: string) =>
      readSettings({ DATABASE_URL: 'postgres://db/cc', SECRET_KEY: KEY, DATABASE_READ_URL: url }).standby?.url;
    for (const url of [
      'postgres://standby/cc',
      'postgres://user:a,b@standby/cc',
      'postgres://user:a@b,c@standby:5433/cc',
    ])
      expect(read(url)).toBe(url);
    for (const url of ['postgres://one,two/cc', 'postgres://user:a,b@one,two', 'postgres://user@one:5432,two?ssl=true'])
      expect(() => read(url)).toThrow(/names several servers/);
  });

  it('reads brokers by name and by address', () => {
    const { kafkaBrokers } = readSettings({ KAFKA_BROKERS: 'kafka-1:9092, 10.0.0.1:9093' });
    expect(kafkaBrokers).toEqual(['kafka-1:9092', '10.0.0.1:9093']);
  });

  it('requires all SASL settings together and never repeats the password', () => {
    const half = { KAFKA_SASL_USERNAME: 'relay', KAFKA_SASL_PASSWORD: 'hunter2' };
    expect(() => readSettings(half)).toThrow(/KAFKA_SASL_MECHANISM.*go together/);
    expect(() => readSettings(half)).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('hunter2') }),
    );
    expect(readSettings({ ...half, KAFKA_SASL_MECHANISM: 'plain' }).kafkaSaslUsername).toBe('relay');
  });

  it('refuses SASL plain without TLS, except to brokers on this machine', () => {
    const sasl = {
      KAFKA_SASL_MECHANISM: 'plain',
      KAFKA_SASL_USERNAME: 'relay',
      KAFKA_SASL_PASSWORD: 'hunter2',
      KAFKA_BROKERS: 'localhost:9092,kafka-1:9092',
    };
    expect(() => readSettings(sasl)).toThrow(/^KAFKA_SASL_MECHANISM plain would send the password unencrypted/);
    expect(readSettings({ ...sasl, KAFKA_BROKERS: 'localhost:9092,127.0.0.1:9093' }).kafkaSsl).toBe(false);
    expect(readSettings({ ...sasl, KAFKA_SSL: 'true' }).kafkaSsl).toBe(true);
    expect(readSettings({ ...sasl, KAFKA_SASL_MECHANISM: 'scram-sha-512' }).kafkaSsl).toBe(false);
  });

  it('reads the collector of traces, and never repeats credentials in its address', () => {
    const read = (value: string) => readSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: value }).otlpEndpoint;
    expect(read('http://127.0.0.1:4318')).toBe('http://127.0.0.1:4318');
    expect(read('https://collector.example/otlp')).toBe('https://collector.example/otlp');
    for (const value of [
      'collector:4318',
      'ftp://collector',
      'http://user:hunter2@collector',
      'http://collector/?key=hunter2',
    ])
      expect(() => read(value)).toThrow(/^OTEL_EXPORTER_OTLP_ENDPOINT(?!.*hunter2)/);
    const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:4318';
    const ratio = (OTEL_TRACES_SAMPLER_ARG: string) =>
      readSettings({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER_ARG }).traceRatio;
    expect([ratio('0'), ratio('.25'), ratio('0.5'), ratio('1')]).toEqual([0, 0.25, 0.5, 1]);
    for (const value of ['-1', '1.5', '2', 'all', '0x1'])
      expect(() => ratio(value)).toThrow(/^OTEL_TRACES_SAMPLER_ARG: .*0 to 1/);
    // Not ours to read without a collector.
    for (const value of ['all', 'endpoint=http://localhost:14250,pollingIntervalMs=5000'])
      expect(readSettings({ OTEL_TRACES_SAMPLER_ARG: value, OTEL_EXPORTER_OTLP_ENDPOINT: '' }).traceRatio).toBe(1);
  });

  it('requires certificate and key together', () => {
    const folder = mkdtempSync(join(tmpdir(), 'cc-settings-'));
    writeFileSync(join(folder, 'cert.pem'), 'x');
    expect(() => readSettings({ TLS_CERT: join(folder, 'cert.pem') })).toThrow(/TLS_CERT and TLS_KEY go together/);
    rmSync(folder, { recursive: true });
  });
});

describe('docs/settings.md', () => {
  it('is what "npm run docs:settings" writes', () => {
    expect(readFileSync('docs/settings.md', 'utf8')).toBe(settingsDocument(SIGN_IN_PLATFORMS));
  });

  it('has one sentence or more for every setting', () => {
    for (const { description } of definitionsWith(SIGN_IN_PLATFORMS)) expect(description).toMatch(/^[A-Z].*\.$/);
  });
});
