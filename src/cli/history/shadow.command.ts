import { type Command, InvalidArgumentError } from 'commander';
import { type Bound, positionRangeOf } from '../../history/bound.js';
import type { Differences, ShadowResult } from '../../history/shadow/differences.js';
import { requireValidSettings, runShadow } from '../../history/shadow/run-shadow.js';
import type { ShadowRules } from '../../history/shadow/shadow-rules.js';
import { counted } from '../../kernel/counted.js';
import { messageOf } from '../../kernel/errors.js';
import { dedupWindowMs } from '../../kernel/settings/settings.js';
import type { ReaderHold } from '../../log/retention/retention-holds.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import type { Site } from '../../sites/site.js';
import { FROM_HELP, readBound, TO_HELP } from '../arguments/bound-argument.js';
import { connectionArgument } from '../arguments/platform-argument.js';
import type { Layout } from '../output/layout.js';
import { table } from '../output/table.js';
import type { Session } from '../session.js';
import { collect, subcommand, UsageError } from '../subcommand.js';
import { noteRemoved } from './removed-events.js';

interface ShadowOptions {
  readonly site: string;
  readonly from: Bound;
  readonly to: Bound;
  readonly dedupWindow?: number;
  readonly botThreshold?: number;
  readonly set?: string[];
  readonly json?: true;
}

export function addShadow(history: Command, session: Session): void {
  const { output } = session;
  subcommand(
    history,
    'shadow',
    'Replay a range of the log with other rules and show the differences. Nothing is sent or stored.',
    'history shadow --site shop.example --from 2025-03-01 --to 2025-04-01 --dedup-window 1h --set meta.events=purchase',
  )
    .requiredOption('--site <host>', 'site of the conversions')
    .requiredOption('--from <when>', FROM_HELP, readBound)
    .requiredOption('--to <when>', TO_HELP, readBound)
    .option('--dedup-window <duration>', 'another dedup window, such as 1h', readWindow)
    .option('--bot-threshold <score>', 'another bot threshold, 0 to 100', readThreshold)
    .option(
      '--set <platform.name=value>',
      'another setting of a connection, such as meta or meta:second; may be repeated',
      collect,
    )
    .action(async (options: ShadowOptions) => {
      const { site, ...dependencies } = await session.openSite(options.site);
      const rules: ShadowRules = {
        dedupWindowMs: options.dedupWindow,
        botThreshold: options.botThreshold,
        settings: readChanges(site, options.set ?? []),
      };
      const range = await positionRangeOf(dependencies.log, options, site);
      const progress = (conversions: number) => {
        session.throwIfStopped(
          'Interrupted before all conversions were checked. Nothing was changed; run the command again.',
        );
        output.progress(`${counted(conversions, 'conversion')} checked`);
      };
      const onHold = (hold: ReaderHold) => noteRemoved(output, range, hold);
      const result = await runShadow(dependencies, site, range, rules, { onHold, progress });
      output.endProgress();
      await output.show(options.json, { site: site.host, ...range, ...result }, (layout) => shadowText(result, layout));
    });
}

function readWindow(text: string): number {
  try {
    return dedupWindowMs(text);
  } catch (error) {
    throw new InvalidArgumentError(`${messageOf(error)}.`);
  }
}

function readThreshold(text: string): number {
  if (!/^\d+$/.test(text) || Number(text) > 100) throw new InvalidArgumentError('Give a whole number from 0 to 100.');
  return Number(text);
}

/** Parses `meta.event.lead=Contact` and validates it like `platforms connect`. */
function readChanges(site: Site, texts: readonly string[]): ShadowRules['settings'] {
  const changes: Partial<Record<ConnectionName, Record<string, string>>> = {};
  for (const text of texts) {
    const [, name, setting, value] = /^([^.=]+)\.([^=]+)=(.*)$/s.exec(text) ?? [];
    if (name === undefined || setting === undefined || value === undefined) {
      throw new UsageError('--set: write <platform>.<name>=<value>, such as meta.events=purchase,lead.');
    }
    const connection = connectionArgument(site, name);
    changes[connection.name] = { ...changes[connection.name], [setting]: value };
  }
  requireValidSettings(site, changes);
  return changes;
}

interface Change {
  readonly what: string;
  readonly was: string;
  readonly would: string;
  readonly count: number;
}

function shadowText({ conversions, platforms, undecided }: ShadowResult, layout: Layout): string {
  const rows = changesOf('conversions', conversions);
  for (const [what, differences] of Object.entries(platforms)) {
    rows.push(...changesOf(what, differences));
    const count = differences.payloadsChanged;
    if (count > 0) rows.push({ what, was: 'sent', would: 'sent, with another payload', count });
  }
  const left = undecided > 0 ? `${undecided} cannot be evaluated because their personal data was erased.\n` : '';
  if (rows.length === 0) return `Nothing would have differed.\n${left}`;
  const columns = {
    WHAT: ({ what }: Change) => what,
    WAS: ({ was }: Change) => was,
    'WOULD BE': ({ would }: Change) => would,
    COUNT: ({ count }: Change) => count,
  };
  return `${table(rows, columns, layout)}${left}`;
}

function changesOf(what: string, { changes }: Differences): Change[] {
  return changes.map((change) => ({ what, ...change }));
}
