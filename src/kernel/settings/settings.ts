import { resolve } from 'node:path';
import { isLoopbackHost } from '../addresses.js';
import { parseDurationMs } from '../durations.js';
import { messageOf, UserError } from '../errors.js';
import { INTERVALS } from '../intervals.js';
import { requireStrongPassword } from '../password-strength.js';
import { oauthDefinitions, readOauthApps } from './oauth-settings.js';
import {
  addresses,
  brokers,
  cellAddress,
  cellTokens,
  cellUrls,
  dailyBudget,
  duration,
  durationBetween,
  durationFrom,
  durations,
  email,
  type Format,
  flag,
  headerName,
  issuerUrl,
  name,
  oneOf,
  origin,
  path,
  pemFile,
  portOrOff,
  postgresUrl,
  ratio,
  secret,
  serviceUrl,
  smtpUrl,
  standbyUrl,
  text,
  wholeNumber,
} from './setting-formats.js';

/**
 * Everything that can be set, read from the environment once. A value that does not parse prevents the start; the error names
 * the variable.
 */
export type Settings = ReturnType<typeof readSettings>;

/** The injection token. */
export const SETTINGS = Symbol('settings');

const HOUR_MS = 60 * 60 * 1_000;
const DAY_MS = 24 * HOUR_MS;
const MAX_DEDUP_WINDOW_MS = 30 * DAY_MS;
const dedupWindow: Format<number> = { text: 'duration, 0s to 30d', parse: dedupWindowMs };

/** A setting is absent without a default. The description is one line of `docs/settings.md`, with links relative to it. */
export interface Setting<Value = unknown> {
  readonly name: string;
  readonly format: Format<Value>;
  readonly default: string | undefined;
  readonly description: string;
}

const setting = <Value>(name: string, value: string, format: Format<Value>, description: string) =>
  ({ name, default: value, format, description }) satisfies Setting<Value>;

const optional = <Value>(name: string, format: Format<Value>, description: string) =>
  ({ name, default: undefined, format, description }) satisfies Setting<Value>;

const DEFINITIONS = {
  port: setting('PORT', '8080', wholeNumber(0, 65_535), 'Port to listen on; 0 chooses any free port.'),
  host: setting('HOST', '127.0.0.1', text, 'Address to listen on; `0.0.0.0` listens on every interface.'),
  dataDir: setting(
    'DATA_DIR',
    '.data',
    path,
    "Folder of the embedded PostgreSQL, its secret key and the demo site's API key.",
  ),
  databaseUrl: optional(
    'DATABASE_URL',
    postgresUrl,
    'Your own PostgreSQL server (15 or later), used instead of the embedded one. Of several, `postgres://one,two/db`, the [primary](operate/high-availability.md) is used.',
  ),
  databaseReadUrl: optional(
    'DATABASE_READ_URL',
    standbyUrl,
    'A [standby](operate/high-availability.md#reads-from-a-standby) for statistics, lists, searches and exports, or a proxy that leads to one. Requires `DATABASE_URL`.',
  ),
  databaseReadMaxLagMs: setting(
    'DATABASE_READ_MAX_LAG',
    '10s',
    durationBetween(1_000, HOUR_MS),
    'A standby that is further behind is not read: the primary is.',
  ),
  secretKey: optional(
    'SECRET_KEY',
    secret,
    'Key that seals secrets in the database. Required with `DATABASE_URL`; otherwise created once and stored in `DATA_DIR`.',
  ),
  secretKeyPrevious: optional(
    'SECRET_KEY_PREVIOUS',
    secret,
    'The previous `SECRET_KEY`: opens secrets that were sealed before the key was changed.',
  ),
  tlsCert: optional('TLS_CERT', pemFile, 'Certificate. Together with `TLS_KEY` the service terminates TLS itself.'),
  tlsKey: optional('TLS_KEY', pemFile, 'Private key of the certificate.'),
  trustedProxies: setting(
    'TRUSTED_PROXIES',
    '',
    addresses,
    'Proxies whose `X-Forwarded-Proto`, `X-Forwarded-Host` and `X-Forwarded-For` are trusted.',
  ),
  operationsFrom: setting(
    'OPERATIONS_FROM',
    '',
    addresses,
    'Clients that may read `/metrics` and `/docs`, in addition to this machine.',
  ),
  adminPort: setting(
    'ADMIN_PORT',
    '8081',
    portOrOff,
    'Port of the management API; 0 chooses any free port, `off` disables it.',
  ),
  adminHost: setting(
    'ADMIN_HOST',
    '127.0.0.1',
    text,
    'Address of the management API. Beyond this machine it needs `ADMIN_URL` with https, and `TLS_CERT` or `TRUSTED_PROXIES`.',
  ),
  adminUrl: optional(
    'ADMIN_URL',
    origin,
    'Address under which browsers reach the management API, such as `https://admin.example`; the only accepted host and origin.',
  ),
  cliCommand: setting(
    'CLI_COMMAND',
    'npx clean-conversions',
    text,
    'How the command line is run here: shown where there is no user or no site yet.',
  ),
  adminEmail: setting(
    'ADMIN_EMAIL',
    'admin@localhost',
    email,
    'Email address with which the first administrator signs in.',
  ),
  adminPassword: optional(
    'ADMIN_PASSWORD',
    text,
    'Creates the first administrator at the start, if there is no user yet. Without it: [a link](api.md#the-first-user).',
  ),
  oidcIssuer: optional(
    'OIDC_ISSUER',
    issuerUrl,
    'OpenID Connect provider at which users of the [management API](api.md) sign in.',
  ),
  oidcClientId: optional('OIDC_CLIENT_ID', text, 'Client id at the provider.'),
  oidcClientSecret: optional('OIDC_CLIENT_SECRET', text, 'Client secret at the provider.'),
  oidcRoleClaim: optional(
    'OIDC_ROLE_CLAIM',
    name,
    'Claim of the ID token that contains the role: `admin`, `operator` or `analyst`. Without it, roles are set here.',
  ),
  logLevel: setting(
    'LOG_LEVEL',
    'info',
    oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    'Least severe level that is logged.',
  ),
  shutdownGraceMs: setting(
    'SHUTDOWN_GRACE',
    '10s',
    durationBetween(1_000, 600_000),
    'How long a shutdown may take. Set it below the grace period of your orchestrator (Docker: 10 s, Kubernetes: 30 s).',
  ),
  maxBodyBytes: setting('MAX_BODY_BYTES', '65536', wholeNumber(1, 16 * 1024 * 1024), 'Largest request body, in bytes.'),
  maxBatchBytes: setting(
    'MAX_BATCH_BYTES',
    '4194304',
    wholeNumber(1, 64 * 1024 * 1024),
    'Largest body of a batch of conversions, in bytes. Each conversion in it is limited by `MAX_BODY_BYTES`.',
  ),
  dedupWindowMs: setting(
    'DEDUP_WINDOW',
    '24h',
    dedupWindow,
    'How long a repeated conversion counts as a duplicate; a site can have its own window (`sites set --dedup-window`).',
  ),
  authFailureLimit: setting(
    'AUTH_FAILURE_LIMIT',
    '20',
    wholeNumber(1, 10_000),
    'Wrong API keys per site within `AUTH_FAILURE_WINDOW` before 401 becomes 429. A correct key is never throttled.',
  ),
  authFailureWindowMs: setting(
    'AUTH_FAILURE_WINDOW',
    '15m',
    duration,
    'Time window in which wrong API keys are counted.',
  ),
  inboundDeadlineMs: setting(
    'INBOUND_DEADLINE',
    '8s',
    duration,
    'How long a receipt waits for platforms. A delivery without an answer by then is reported as `queued` and continues.',
  ),
  deliveryRetryScheduleMs: setting(
    'DELIVERY_RETRY_SCHEDULE',
    '30s,2m,10m,30m,1h,2h,4h',
    durations,
    'Delays between the attempts of a delivery, with ±20 % jitter; the last one repeats.',
  ),
  deliveryGiveUpMs: setting(
    'DELIVERY_GIVE_UP',
    '7d',
    duration,
    'How long a delivery is retried if the platform has no window of its own.',
  ),
  confirmationPollMs: setting(
    'CONFIRMATION_POLL',
    '30m',
    durationFrom(10_000),
    'How often Google is asked for the result of an accepted call.',
  ),
  outboundEveryMs: setting(
    'OUTBOUND_EVERY',
    '15m',
    durationBetween(1_000, DAY_MS),
    'How often totals are pushed to webhooks: at multiples of this duration in UTC.',
  ),
  outboundTimeoutMs: setting('OUTBOUND_TIMEOUT', '10s', durationBetween(100, 60_000), 'Timeout of a push of totals.'),
  outboundRetryScheduleMs: setting(
    'OUTBOUND_RETRY_SCHEDULE',
    '5s,5m,30m,2h,5h,10h',
    durations,
    'Delays between the attempts of a push; the last one repeats.',
  ),
  outboundDisableAfterMs: setting(
    'OUTBOUND_DISABLE_AFTER',
    '5d',
    duration,
    'How long a webhook can fail before it is disabled.',
  ),
  outboundAllowPrivate: setting(
    'OUTBOUND_ALLOW_PRIVATE',
    'false',
    flag,
    'Whether webhooks and the webhook platform may call private addresses and plain http.',
  ),
  identifierTtlMs: setting(
    'IDENTIFIER_TTL',
    '90d',
    duration,
    'How long click ids and visits are stored; shorter if a platform accepts them for less time.',
  ),
  collectRate: setting(
    'COLLECT_RATE',
    '20',
    wholeNumber(1, 100_000),
    'Calls of the browser tag per second, from one address to one site; more are answered with 429.',
  ),
  collectBurst: setting(
    'COLLECT_BURST',
    '100',
    wholeNumber(1, 1_000_000),
    'How many such calls may exceed the rate at once.',
  ),
  tagBudgetAddress: setting(
    'TAG_BUDGET_ADDRESS',
    '500/20000/50',
    dailyBudget,
    'What the browser tag may send in a day from one address to one site; more is answered with 429. Each instance counts.',
  ),
  tagBudgetVisitor: setting('TAG_BUDGET_VISITOR', '20/2000/5', dailyBudget, 'The same for one visitor, by its cookie.'),
  tagBudgetSite: setting('TAG_BUDGET_SITE', '200000/5000000/5000', dailyBudget, 'The same for a site in total.'),
  tagBudgetStorage: setting(
    'TAG_BUDGET_STORAGE',
    '20',
    wholeNumber(1, 1_000_000),
    'Megabytes that calls of the browser tag from one address may add to the database in an hour, all sites together; more are answered with 429. Each instance counts.',
  ),
  tagBudgetPerson: setting(
    'TAG_BUDGET_PERSON',
    '200',
    wholeNumber(1, 1_000_000),
    'Calls of the browser tag about one email to one site in a day.',
  ),
  unidentifiedTtlMs: setting(
    'UNIDENTIFIED_TTL',
    '30d',
    duration,
    'How long the personal part of a visit without an email is stored.',
  ),
  countryHeader: optional(
    'COUNTRY_HEADER',
    headerName,
    "Header in which a trusted proxy sends the visitor's country, for `sites set --block-country`.",
  ),
  erasureList: optional(
    'ERASURE_LIST',
    path,
    'File with the [list of erasures](privacy.md), to be stored apart from the database. Without it: `erasures` in `DATA_DIR`.',
  ),
  demoPlatforms: setting(
    'DEMO_PLATFORMS',
    'true',
    flag,
    'Whether the demo site has platforms connected to a sandbox. `false` starts no sandbox.',
  ),
  botList: optional('BOT_LIST', path, 'Your own [list of bots](bots.md), a JSON file.'),
  cell: setting('CELL', 'local', name, 'Name of this installation in the `ce_source` of published events.'),
  cells: optional(
    'CELLS',
    cellUrls,
    'Other [cells](operate/cells.md): the management API of each. Their sites are listed with those of this one.',
  ),
  cellTokens: optional(
    'CELL_TOKENS',
    cellTokens,
    'An API token of each of these cells, with the scope `read` for all sites.',
  ),
  cellMoveTokens: optional(
    'CELL_MOVE_TOKENS',
    cellTokens,
    'An API token of each cell that `sites move` may move sites to, with the scope `move`. Only that command needs it.',
  ),
  cellAddress: optional(
    'CELL_ADDRESS',
    cellAddress,
    'Where other cells reach this service, to [forward](operate/move-site.md#forwarding) requests of senders that still arrive there after a site has moved here.',
  ),
  smtpUrl: optional(
    'SMTP_URL',
    smtpUrl,
    'Server that sends [alerts](operate/alerts.md) by email, such as `smtps://user:password@smtp.example:465`. Requires `ALERT_FROM`.',
  ),
  alertFrom: optional('ALERT_FROM', email, 'Address that emails of alerts come from.'),
  kafkaBrokers: optional(
    'KAFKA_BROKERS',
    brokers,
    'Kafka brokers that events are published to, as described in [Kafka](kafka.md).',
  ),
  kafkaTopicPrefix: setting('KAFKA_TOPIC_PREFIX', 'cc.', name, 'Prefix of topic names; one per cell.'),
  kafkaPartitions: setting(
    'KAFKA_PARTITIONS',
    '6',
    wholeNumber(1, 1_000),
    'Partitions of a topic when it is created; fixed from then on.',
  ),
  kafkaRetentionMs: setting(
    'KAFKA_RETENTION',
    '30d',
    duration,
    'How long a topic retains an event after its publication; applies when the topic is created.',
  ),
  kafkaSsl: setting('KAFKA_SSL', 'false', flag, 'Whether to connect to the brokers with TLS.'),
  kafkaSslCa: optional(
    'KAFKA_SSL_CA',
    pemFile,
    "Certificate authority of the brokers' certificates, if the system does not trust it.",
  ),
  kafkaSaslMechanism: optional(
    'KAFKA_SASL_MECHANISM',
    oneOf(['plain', 'scram-sha-256', 'scram-sha-512']),
    'SASL mechanism; requires `KAFKA_SASL_USERNAME` and `KAFKA_SASL_PASSWORD`.',
  ),
  kafkaSaslUsername: optional('KAFKA_SASL_USERNAME', text, 'SASL user name.'),
  kafkaSaslPassword: optional('KAFKA_SASL_PASSWORD', text, 'SASL password.'),
  otlpEndpoint: optional(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    serviceUrl,
    'OpenTelemetry collector that [spans](operate/monitor.md#tracing) are sent to (OTLP over HTTP, usually port 4318). Without it none are recorded.',
  ),
  traceRatio: setting(
    'OTEL_TRACES_SAMPLER_ARG',
    '1',
    ratio,
    'Share of the traces that are recorded, read only with a collector. The sampling flag of senders has no effect.',
  ),
  logRetentionMs: optional(
    'LOG_RETENTION',
    duration,
    'How long events are kept; without it, forever. Read [log retention](operate/retention.md) before you set it.',
  ),
  personalRetentionMs: optional(
    'PERSONAL_RETENTION',
    durationBetween(60_000, 10 * 365 * 24 * 60 * 60_000),
    'How long the [personal parts of events](operate/retention.md#personal-data) are kept; without it, as long as the events. ' +
      'Shortens `IDENTIFIER_TTL` and `UNIDENTIFIED_TTL`.',
  ),
};

/** All settings, in the order of `docs/settings.md`. `signIns`: the platforms that people sign in at. */
export function definitionsWith(signIns: readonly string[]): readonly Setting[] {
  const definitions: readonly Setting[] = Object.values(DEFINITIONS);
  const oauth = oauthDefinitions(signIns).map(({ name, description }) => optional(name, text, description));
  return definitions.toSpliced(definitions.indexOf(DEFINITIONS.logLevel), 0, ...oauth);
}

type ValueOf<Defined extends Setting> =
  | ReturnType<Defined['format']['parse']>
  | (Defined['default'] extends string ? never : undefined);
type Values = { [Field in keyof typeof DEFINITIONS]: ValueOf<(typeof DEFINITIONS)[Field]> };

/** Other programs of the machine read the same variable, in other forms: without a collector it must not prevent the start. */
function withoutUnusedSampler(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  if (environment[DEFINITIONS.otlpEndpoint.name]?.trim()) return environment;
  return { ...environment, [DEFINITIONS.traceRatio.name]: undefined };
}

/** `signIns`: the platforms of which the environment may have an OAuth app. */
export function readSettings(environment: NodeJS.ProcessEnv, signIns: readonly string[] = []) {
  const relevant = withoutUnusedSampler(environment);
  const values = Object.entries(DEFINITIONS).map(([field, definition]) => [field, read(relevant, definition)]);
  const settings = Object.fromEntries(values) as Values;
  if (!settings.tlsCert !== !settings.tlsKey)
    throw new UserError('TLS_CERT and TLS_KEY go together: set both, or neither.');
  requireSafeAdminAddress(settings);
  requireStrongAdminPassword(settings);
  const oidc = [settings.oidcIssuer, settings.oidcClientId, settings.oidcClientSecret];
  if (oidc.some(Boolean) && !oidc.every(Boolean))
    throw new UserError('OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET go together: set all three, or none.');
  const sasl = [settings.kafkaSaslMechanism, settings.kafkaSaslUsername, settings.kafkaSaslPassword];
  if (sasl.some(Boolean) && !sasl.every(Boolean)) {
    throw new UserError(
      'KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD go together: set all three, or none.',
    );
  }
  const isLocal = (settings.kafkaBrokers ?? []).every((broker) => isLoopbackHost(broker.split(':')[0] as string));
  if (settings.kafkaSaslMechanism === 'plain' && !settings.kafkaSsl && !isLocal) {
    throw new UserError(
      'KAFKA_SASL_MECHANISM plain would send the password unencrypted: set KAFKA_SSL to true, or use scram-sha-512.',
    );
  }
  if (!settings.smtpUrl !== !settings.alertFrom)
    throw new UserError('SMTP_URL and ALERT_FROM go together: set both, or neither.');
  if (settings.kafkaSslCa && !settings.kafkaSsl) {
    throw new UserError('KAFKA_SSL_CA has no effect without TLS: set KAFKA_SSL to true as well.');
  }
  if (settings.databaseUrl && !settings.secretKey) {
    throw new UserError(
      'SECRET_KEY is required with DATABASE_URL: it seals the secrets in the database. Create one with ' +
        `"node -p \\"crypto.randomBytes(32).toString('hex')\\"" and keep it as safe as the database itself.`,
    );
  }
  if (settings.databaseReadUrl && !settings.databaseUrl)
    throw new UserError('DATABASE_READ_URL has no effect without DATABASE_URL: the embedded server has no standby.');
  // Next to the embedded server's data, not inside it: a backup of the database must not contain it.
  const erasureList = settings.erasureList ?? resolve(settings.dataDir, 'erasures');
  const standby = settings.databaseReadUrl && {
    url: settings.databaseReadUrl,
    maxLagMs: settings.databaseReadMaxLagMs,
  };
  const longest = settings.personalRetentionMs ?? Number.POSITIVE_INFINITY;
  return {
    ...settings,
    identifierTtlMs: Math.min(settings.identifierTtlMs, longest),
    unidentifiedTtlMs: Math.min(settings.unidentifiedTtlMs, longest),
    standby: standby || undefined,
    smtp: settings.smtpUrl && settings.alertFrom ? { url: settings.smtpUrl, from: settings.alertFrom } : undefined,
    oauthApps: readOauthApps(environment, signIns),
    otherCells: otherCellsOf(settings),
    moveTargets: moveTargetsOf(settings),
    erasureList,
    intervals: INTERVALS,
  };
}

/** Another installation with a database of its own, and sites of its own. */
export interface Cell {
  readonly name: string;
  /** Address of its management API, without a path. */
  readonly url: string;
  readonly token: string;
}

/** All cells may have the same list: this one is left out. */
function otherCellsOf({ cell, cells = new Map(), cellTokens = new Map() }: Values): Cell[] {
  for (const name of cellTokens.keys())
    if (!cells.has(name)) throw new UserError(`CELL_TOKENS names ${name}, which is not in CELLS. Add it there.`);
  return [...cells].flatMap(([name, url]) => {
    if (name === cell) return [];
    const token = cellTokens.get(name);
    if (token === undefined)
      throw new UserError(
        `CELLS names ${name}, of which CELL_TOKENS has no token. Create one there, with the scope read.`,
      );
    return [{ name, url, token }];
  });
}

/** Cells that sites can be moved to, each with a token that may do this. */
function moveTargetsOf({ cell, cells = new Map(), cellMoveTokens = new Map() }: Values): Cell[] {
  return [...cellMoveTokens].flatMap(([name, token]) => {
    const url = cells.get(name);
    if (url === undefined) throw new UserError(`CELL_MOVE_TOKENS names ${name}, which is not in CELLS. Add it there.`);
    return name === cell ? [] : [{ name, url, token }];
  });
}

/** Passwords and secrets pass through the management API: never in plain HTTP over a network, never under an unknown name. */
function requireSafeAdminAddress({ adminPort, adminHost, adminUrl, tlsCert, trustedProxies }: Values): void {
  if (adminPort === undefined || isLoopbackHost(adminHost)) return;
  if (!adminUrl?.startsWith('https:'))
    throw new UserError(
      `ADMIN_HOST ${adminHost} is reachable from other machines: set ADMIN_URL to the https URL that browsers use.`,
    );
  if (!tlsCert && trustedProxies.length === 0)
    throw new UserError(
      `ADMIN_HOST ${adminHost} is reachable from other machines: set TLS_CERT and TLS_KEY, or TRUSTED_PROXIES to the proxy that terminates TLS.`,
    );
}

function requireStrongAdminPassword({ adminEmail, adminPassword }: Values): void {
  if (adminPassword === undefined) return;
  try {
    requireStrongPassword(adminPassword, adminEmail);
  } catch (error) {
    throw new UserError(`ADMIN_PASSWORD: ${messageOf(error)}`);
  }
}

/** An empty value counts as not set. */
function read(environment: NodeJS.ProcessEnv, { name, default: fallback, format }: Setting): unknown {
  const value = environment[name] || fallback;
  if (value === undefined) return undefined;
  try {
    return format.parse(value);
  } catch (error) {
    throw new UserError(`${name}: ${messageOf(error)}`);
  }
}

/** The duplicate window of a site has the same bounds. */
export function dedupWindowMs(value: string): number {
  const ms = parseDurationMs(value);
  if (ms > MAX_DEDUP_WINDOW_MS) throw new Error(`"${value}" is too long: 0s to 30d`);
  return ms;
}
