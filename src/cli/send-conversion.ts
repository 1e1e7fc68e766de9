import { join } from 'node:path';
import { DEMO_HOST, readFileIfExists } from '../app/demo-site.js';
import { errorIn, postConversion } from '../app/post-conversion.js';
import { cellValue, setField } from '../conversions/import/csv-row.js';
import type { Receipt } from '../conversions/receipt.js';
import { isLoopbackHost } from '../kernel/addresses.js';
import { UserError } from '../kernel/errors.js';
import { readSettings, type Settings } from '../kernel/settings/settings.js';
import { SIGN_IN_PLATFORMS } from '../platforms/index.js';
import { parseHost } from '../sites/site-repository.js';
import { printable } from './output/table.js';
import type { Session } from './session.js';
import { UsageError } from './subcommand.js';

const KEY_VARIABLE = 'CC_API_KEY';

export interface SendArguments {
  readonly site?: string;
  readonly url?: string;
  readonly key?: string;
  readonly email?: string;
  readonly event: string;
  readonly value?: string;
  readonly currency?: string;
  readonly order?: string;
  /** Others, by their name: of a part `clickIds.gclid`. */
  readonly fields: ReadonlyMap<string, string>;
  readonly json?: true;
}

/** Posts a conversion as a sender does, and prints the answer. Sets the exit code 1 if it is refused. */
export async function sendConversion(session: Session, options: SendArguments): Promise<void> {
  const settings = readSettings(session.environment, SIGN_IN_PLATFORMS);
  const url = readUrl(options.url ?? `http://${DEMO_HOST}:${settings.port}`);
  const host = options.site === undefined ? url.hostname : parseHost(options.site);
  const key = await findKey(session, settings, host, options.key);
  const { status, id, warning, text } = await postConversion({
    ...{ url, host, key, body: bodyOf(options), stop: session.stop },
    hint: 'Is the service running there? --url names another address.',
  });
  if (status !== 200) {
    const error = errorIn(text);
    session.exitCode = 1;
    session.output.error(`${status}: ${printable(error)}`);
    if (options.json) await session.output.print(`${JSON.stringify({ ok: false, status, error })}\n`);
    return;
  }
  const receipt = JSON.parse(text) as Receipt;
  const document = { conversionId: id, ...receipt, ...(warning !== undefined && { warning }) };
  await session.output.show(options.json, document, () => readable(id, receipt));
  if (warning !== undefined && !options.json) session.output.note(printable(warning));
}

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new UsageError('--url takes an address such as https://shop.example.');
  // The service would refuse it, but the key would have been sent.
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname))
    throw new UsageError(`--url: send API keys and email addresses over https, not to ${url.origin}.`);
  return url;
}

async function findKey(session: Session, settings: Settings, host: string, given: string | undefined): Promise<string> {
  if (given !== undefined) return session.input.value('--key', given);
  const key = session.environment[KEY_VARIABLE] ?? (host === DEMO_HOST ? demoKey(settings) : undefined);
  if (key) return key;
  throw new UserError(
    `There is no API key to send with. Set ${KEY_VARIABLE}, or give "--key -" and the key on standard input. "keys create" makes one.`,
  );
}

/** Only an embedded database has a demo site. */
function demoKey({ databaseUrl, dataDir }: Settings): string | undefined {
  return databaseUrl === undefined ? readFileIfExists(join(dataDir, 'demo-key'))?.trim() : undefined;
}

const EXAMPLE_EMAIL = 'jane@example.com';
/** By which the customer can be known. */
const IDENTIFYING = /^(?:email|hashed_email|phone|hashed_phone|externalId|clickIds\.(?!fbp$).+)$/;

function bodyOf({ email: given, event, value, currency, order, fields }: SendArguments): string {
  const amount = value === undefined ? undefined : Number(value);
  if (Number.isNaN(amount)) throw new UsageError('--value takes a number such as 12.50.');
  const isNamed = [...fields.keys()].some((field) => IDENTIFYING.test(field));
  const email = given ?? (isNamed ? undefined : EXAMPLE_EMAIL);
  const body: Record<string, unknown> = { email, event, value: amount, currency, orderId: order };
  for (const [field, text] of fields)
    setField(body, field, field === 'items' ? readItems(text) : cellValue(field, text));
  return JSON.stringify(body);
}

function readItems(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError('--set items= takes a list in JSON.');
  }
}

function readable(id: string, receipt: Receipt): string {
  if ('deduped' in receipt) return `Conversion ${id} is a duplicate of one that was received before.\n`;
  if ('filtered' in receipt) return `Conversion ${id} was filtered by the site's settings.\n`;
  const results = Object.entries(receipt.results);
  const width = Math.max(0, ...results.map(([name]) => name.length));
  const lines = results.map(
    ([name, { status, reason }]) => `  ${name.padEnd(width)}  ${status}${reason ? `: ${printable(reason)}` : ''}\n`,
  );
  const none = results.length === 0 ? '  No platform is connected.\n' : '';
  return `Received conversion ${id}\n${lines.join('')}${none}`;
}
