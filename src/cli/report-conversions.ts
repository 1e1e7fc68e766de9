import { counted } from '../kernel/counted.js';
import {
  type PlatformRow,
  type ReportBy,
  type ReportRow,
  reportConversions,
  reportPlatforms,
} from '../statistics/report.js';
import { type Columns, table } from './output/table.js';
import type { Session } from './session.js';

export interface ReportOptions {
  readonly site?: string;
  readonly by: ReportBy;
  readonly last: number;
  readonly json?: true;
}

const GROUP_COLUMNS = {
  campaign: ['source', 'medium', 'campaign'],
  source: ['source', 'medium'],
  event: ['event'],
} as const;

const PLATFORM_COLUMNS: Columns<PlatformRow> = {
  PLATFORM: ({ platform }) => platform,
  DELIVERED: ({ delivered }) => delivered,
  ACCEPTED: ({ accepted }) => accepted,
  CONFIRMED: ({ confirmed }) => confirmed,
  REJECTED: ({ rejected }) => rejected,
  FAILED: ({ failed }) => failed,
  SKIPPED: ({ skipped }) => skipped,
  ACCEPTANCE: ({ acceptance }) => (acceptance === null ? undefined : `${Math.round(acceptance * 1_000) / 10} %`),
};

export async function reportCommand(session: Session, { site, by, last, json }: ReportOptions): Promise<void> {
  const { output } = session;
  const dependencies = await session.open();
  const { sites: repository, postgres } = dependencies;
  const sites = site === undefined ? await repository.all() : [await repository.get(site)];
  const toMs = postgres.clock.nowMs();
  const period = { fromMs: toMs - last, toMs };
  const onProgress = (events: number) => {
    session.throwIfStopped('Interrupted: the report is incomplete. Run the command again.');
    output.progress(counted(events, 'conversion'));
  };
  const request = { sites: sites.map(({ host }) => host), period, onProgress };
  const document = { by, from: new Date(period.fromMs).toISOString(), to: new Date(toMs).toISOString() };
  if (by === 'platform') {
    const items = await reportPlatforms(dependencies, request);
    await output.show(json, { ...document, items }, (layout) => table(items, PLATFORM_COLUMNS, layout));
    if (items.length === 0 && !json) output.note('No delivery ended in this period.');
    return;
  }
  const rows = await reportConversions(dependencies, by, request);
  output.endProgress();
  const items = rows.map(({ group, ...counts }) => ({ ...group, ...counts }));
  await output.show(json, { ...document, items }, (layout) => table(rows, columnsOf(by), layout));
  if (items.length === 0 && !json) output.note('No conversion was received in this period.');
}

function columnsOf(by: keyof typeof GROUP_COLUMNS): Columns<ReportRow> {
  const groups = GROUP_COLUMNS[by].map((name) => [name.toUpperCase(), ({ group }: ReportRow) => group[name]] as const);
  return {
    ...Object.fromEntries(groups),
    CONVERSIONS: ({ conversions }) => conversions,
    VALUE: ({ values }) => values.map(({ currency, value }) => `${value} ${currency}`).join(', '),
  };
}
