import { type Command, Option } from 'commander';
import type { DecimalMark } from '../conversions/import/amounts.js';
import { IMPORT_FIELDS, isImportField } from '../conversions/import/columns.js';
import type { DateOrder } from '../conversions/import/local-times.js';
import { ENCODINGS, type Encoding } from '../conversions/import/source-bytes.js';
import { readTimeZone, type TimeZone } from '../conversions/import/time-zone.js';
import { parseDurationMs } from '../kernel/durations.js';
import { readDurationMs } from './arguments/duration-argument.js';
import type { FileFormat } from './import-file.js';
import type { ReportOptions } from './report-conversions.js';
import type { SendArguments } from './send-conversion.js';
import type { Session } from './session.js';
import { collect, commandGroup, readSetting, subcommand, UsageError } from './subcommand.js';

/** Here, so that the command line starts without what reads the database. */
const REPORTS: readonly ReportOptions['by'][] = ['campaign', 'source', 'platform', 'event'];

interface ImportArguments {
  readonly site: string;
  readonly map?: string[];
  readonly default?: string[];
  readonly format?: FileFormat;
  readonly timezone?: string;
  readonly dateFormat?: DateOrder;
  readonly decimal?: DecimalMark;
  readonly encoding?: Encoding;
  readonly rejected?: string;
  readonly trial?: true;
  readonly dryRun?: true;
  readonly json?: true;
}

export function addConversions(program: Command, session: Session): void {
  const conversions = commandGroup(
    program,
    'conversions',
    'Send a conversion, import conversions from files, or report on them',
  );

  addSend(conversions, session);
  addReport(conversions, session);
  subcommand(
    conversions,
    'import <file>',
    [
      'Import conversions from a CSV or NDJSON file, or from standard input (-). The service delivers them.',
      'A line that was imported before is skipped, so run the same command again to continue after an interruption.',
      'Rejected lines are written with their reasons to <file>.rejected.csv or .ndjson (of standard input: stdin.rejected.csv',
      'or .ndjson in the working directory).',
    ].join('\n'),
    'conversions import orders.csv --site shop.example --map email=Kunden-Mail --timezone Europe/Berlin',
  )
    .requiredOption('--site <host>', 'site that the conversions belong to')
    .option('--map <ours=theirs>', 'column that holds a field, such as email=Mail; may be repeated', collect)
    .option('--default <ours=value>', 'value of a field for lines that have none; may be repeated', collect)
    .addOption(new Option('--format <format>', 'of the file, if its name does not tell').choices(['csv', 'ndjson']))
    .option('--timezone <zone>', 'of times without an offset, such as Europe/Berlin or +01:00 (default: UTC)')
    .addOption(
      new Option('--date-format <order>', 'of day, month and year, where 01/02/2026 is ambiguous').choices([
        'dmy',
        'mdy',
        'ymd',
      ]),
    )
    .addOption(new Option('--decimal <mark>', 'of values, where 1.234 is ambiguous').choices(['comma', 'point']))
    .addOption(new Option('--encoding <name>', 'if it is not UTF-8 or marked').choices(ENCODINGS))
    .option('--rejected <file>', 'file for the rejected lines')
    .option('--trial', 'as with a trial key: nothing is sent to platforms, and it counts in no total')
    .option('--dry-run', 'store no conversion; print what would be counted, and the first rejected lines')
    .action(async (file: string, options: ImportArguments) => {
      const map = readFields('--map', 'email=Kunden-Mail', options.map);
      const defaults = readFields('--default', 'event=purchase', options.default);
      // Loaded when it is needed: other commands start faster without it.
      const { importFile } = await import('./import-file.js');
      await importFile(session, {
        file,
        host: options.site,
        format: options.format,
        encoding: options.encoding,
        rejected: options.rejected,
        isTrial: options.trial === true,
        isDryRun: options.dryRun === true,
        isZoneStated: options.timezone !== undefined,
        json: options.json,
        read: {
          map,
          defaults,
          times: { zone: readZone(options.timezone ?? 'UTC'), dateOrder: options.dateFormat },
          decimalMark: options.decimal,
        },
      });
    });
}

function addSend(conversions: Command, session: Session): void {
  subcommand(
    conversions,
    'send',
    [
      'Post a conversion to a running service, as a sender does, and print its answer. By default to the demo site.',
      'The API key is that of the demo site, or the one in CC_API_KEY. Exit code 1 if the conversion is refused.',
    ].join('\n'),
    'conversions send --site shop.example --email jane@example.com --event lead --key - < key.txt',
  )
    .addOption(new Option('--site <host>', 'site of the service that runs on this machine').conflicts('url'))
    .option('--url <address>', 'of the service, with the host of the site (default: http://localhost:<PORT>)')
    .option('--key <key>', 'API key; - reads it from standard input')
    .option('--email <address>', 'of the customer (default: jane@example.com, unless --set names the customer)')
    .option('--event <name>', 'of the conversion', 'purchase')
    .option('--value <amount>', 'value of the conversion, such as 12.50')
    .option('--currency <code>', 'of the value, such as EUR')
    .option('--order <id>', 'order id, by which repeats are recognised')
    .option(
      '--set <field=value>',
      'another field, such as eventId=evt-1 or custom.profit=41.5; may be repeated',
      collect,
    )
    .action(async ({ set, ...options }: Omit<SendArguments, 'fields'> & { set?: string[] }) => {
      const fields = readFields('--set', 'eventId=evt-1', set);
      const { sendConversion } = await import('./send-conversion.js');
      await sendConversion(session, { ...options, fields });
    });
}

function addReport(conversions: Command, session: Session): void {
  subcommand(
    conversions,
    'report',
    'Add up conversions by campaign, source or event, or the outcomes of deliveries by platform',
    'conversions report --by campaign --last 7d',
  )
    .addOption(new Option('--by <what>', 'what each row is about').choices(REPORTS).makeOptionMandatory())
    .option('--site <host>', 'only of this site (default: all sites)')
    .addOption(
      new Option('--last <time>', 'length of the period, which ends now')
        .argParser(readDurationMs)
        .default(parseDurationMs('7d'), '7d'),
    )
    .action(async (options: ReportOptions) => {
      const { reportCommand } = await import('./report-conversions.js');
      await reportCommand(session, options);
    });
}

function readFields(option: string, example: string, texts: readonly string[] = []): Map<string, string> {
  const fields = new Map<string, string>();
  for (const text of texts) {
    const [field, value] = readSetting(option, example, text);
    if (!isImportField(field))
      throw new UsageError(
        `${option}: there is no field "${field}". Fields: ${IMPORT_FIELDS.join(', ')}, custom.<key>.`,
      );
    if (fields.has(field)) throw new UsageError(`${option} names ${field} twice.`);
    fields.set(field, value);
  }
  return fields;
}

function readZone(text: string): TimeZone {
  const zone = readTimeZone(text);
  if (!zone) throw new UsageError(`--timezone: ${text} is not a time zone. Give one such as Europe/Berlin or +01:00.`);
  return zone;
}
