import type { Command } from 'commander';
import { type Bound, lastBefore } from '../history/bound.js';
import { UserError } from '../kernel/errors.js';
import type { Site } from '../sites/site.js';
import { BotScorer, loadBotList } from '../visitors/bots/bot-scorer.js';
import { type RescoreResult, RescoreVisits, type VerdictChange } from '../visitors/rescore-visits.command.js';
import { RescoreVisitsHandler } from '../visitors/rescore-visits.handler.js';
import { readBound } from './bound-argument.js';
import { table } from './output.js';
import type { Session } from './session.js';
import { verb } from './verb.js';

const PROGRESS_EVERY = 500;

interface RejudgeOptions {
  readonly site: string;
  readonly from?: Bound;
  readonly to?: Bound;
  readonly list?: string;
  readonly apply?: boolean;
  readonly json?: true;
}

export function addRejudge(history: Command, session: Session): void {
  const { output } = session;
  verb(
    history,
    'rejudge',
    'Judge visits anew, by another list of bots and the site’s rules of today, and show the verdicts that change',
    'history rejudge --site shop.example --from 2025-03-01 --to 2025-04-01 --list bots.json',
  )
    .requiredOption('--site <host>', 'whose visits')
    .option('--from <when>', 'seen from this position or time (UTC unless it says otherwise) on', readBound)
    .option('--to <when>', 'up to, and without, this position or time; unless given, up to now', readBound)
    .option('--list <file>', 'a list of bots; unless given, the one that the service uses')
    .option('--apply', 'let the new verdicts count from now on')
    .action(async ({ from, to, list, apply = false, json, ...options }: RejudgeOptions) => {
      const { log, sites, settings } = await session.open();
      const scorer = new BotScorer(loadBotList(list ?? settings.botList));
      const site = await sites.get(options.site);
      const head = await log.head();
      const after = from ? await lastBefore(log, from) : 0;
      const until = to ? Math.min(head, await lastBefore(log, to)) : head;
      const handler = new RescoreVisitsHandler(log, scorer, (looked) => {
        if (session.stop.aborted) {
          throw new UserError('Interrupted: not all were looked at. The same line again goes on with the rest.');
        }
        if (looked % PROGRESS_EVERY === 0) output.progress(`${looked} visits looked at`);
      });
      const result = await handler.execute(new RescoreVisits('cli', site, after, until, apply));
      output.endProgress();
      const threshold = site.settings.botThreshold;
      await output.show(json, { site: site.host, threshold, apply, ...result }, () => changesText(result, site));
      const next = nextStep(result, apply);
      if (next !== undefined && !json) output.note(next);
    });
}

function changesText({ judged, erased, changes }: RescoreResult, { settings }: Site): string {
  const count = (verdict: VerdictChange['verdict']) => changes.filter((change) => change.verdict === verdict).length;
  const summary =
    `${changes.length} of ${judged} verdicts change: ${count('becomes_bot')} become bots, ` +
    `${count('becomes_person')} become people, ${count('stays')} stay on their side of ${settings.botThreshold}.\n`;
  const left = erased === 0 ? '' : `${erased} of erased people could not be judged.\n`;
  if (changes.length === 0) return summary + left;
  const rows = table(changes, {
    POSITION: ({ position }) => position,
    TIME: ({ time }) => time,
    BEFORE: ({ before }) => before.score,
    AFTER: ({ after }) => after.score,
    VERDICT: ({ verdict }) => verdict.replace('_', ' '),
    'REASONS BEFORE': ({ before }) => before.reasons,
    'REASONS AFTER': ({ after }) => after.reasons,
  });
  return rows + summary + left;
}

function nextStep({ changes, applied }: RescoreResult, apply: boolean): string | undefined {
  if (changes.length === 0) return undefined;
  if (!apply) return 'Nothing has been stored: --apply lets the new verdicts count.';
  if (applied === changes.length) return 'Stored: they count for conversions that come from now on.';
  return `${applied} were stored. Of the others something became meanwhile: the same line again looks at them anew.`;
}
