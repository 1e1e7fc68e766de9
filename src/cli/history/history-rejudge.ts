import type { Command } from 'commander';
import { type Bound, positionRangeOf } from '../../history/bound.js';
import { withReaderHold } from '../../log/retention/retention-holds.js';
import type { Site } from '../../sites/site.js';
import { loadBotList } from '../../visitors/bots/bot-list.js';
import { BotScorer } from '../../visitors/bots/bot-scorer.js';
import { type RescoreResult, RescoreVisits, type VerdictChange } from '../../visitors/rescore-visits.command.js';
import { RescoreVisitsHandler } from '../../visitors/rescore-visits.handler.js';
import { FROM_HELP, OPTIONAL_TO_HELP, readBound } from '../arguments/bound-argument.js';
import { CLI_ACTOR } from '../cli-actor.js';
import type { Layout } from '../output/layout.js';
import { table } from '../output/table.js';
import type { Session } from '../session.js';
import { subcommand } from '../subcommand.js';
import { noteRemoved } from './removed-events.js';

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
  subcommand(
    history,
    'rejudge',
    'Score visits again with another bot list and the current settings of the site, and show changed verdicts',
    'history rejudge --site shop.example --from 2025-03-01 --to 2025-04-01 --list bots.json',
  )
    .requiredOption('--site <host>', 'site of the visits')
    .option('--from <when>', FROM_HELP, readBound)
    .option('--to <when>', OPTIONAL_TO_HELP, readBound)
    .option('--list <file>', 'bot list; default: the one of the service')
    .option('--apply', 'store the new verdicts; they apply to later conversions')
    .action(async ({ from, to, list, apply = false, json, ...options }: RejudgeOptions) => {
      const { log, site, settings, postgres } = await session.openSite(options.site);
      const scorer = new BotScorer(loadBotList(list ?? settings.botList));
      const { after, until } = await positionRangeOf(log, { from, to }, site);
      const handler = new RescoreVisitsHandler(log, scorer, (checked) => {
        session.throwIfStopped('Interrupted before all visits were checked. Run the same command again to continue.');
        if (checked % PROGRESS_EVERY === 0) output.progress(`${checked} visits checked`);
      });
      const result = await withReaderHold(postgres, 'history rejudge', after, (hold) => {
        noteRemoved(output, { after, until }, hold);
        return handler.execute(new RescoreVisits(CLI_ACTOR, site, after, until, apply));
      });
      output.endProgress();
      const threshold = site.settings.botThreshold;
      await output.show(json, { site: site.host, threshold, apply, ...result }, (layout) =>
        changesText(result, site, layout),
      );
      const next = nextStep(result, apply);
      if (next !== undefined && !json) output.note(next);
    });
}

function changesText({ judged, erased, changes }: RescoreResult, { settings }: Site, layout: Layout): string {
  const count = (verdict: VerdictChange['verdict']) => changes.filter((change) => change.verdict === verdict).length;
  const summary =
    `${changes.length} of ${judged} verdicts change (threshold ${settings.botThreshold}): ${count('becomes_bot')} newly classified as bots, ` +
    `${count('becomes_person')} no longer, ${count('stays')} with another score only.\n`;
  const left = erased === 0 ? '' : `Visits of erased people that could not be scored: ${erased}.\n`;
  if (changes.length === 0) return summary + left;
  const rows = table(
    changes,
    {
      POSITION: ({ position }) => position,
      TIME: ({ time }) => time,
      BEFORE: ({ before }) => before.score,
      AFTER: ({ after }) => after.score,
      VERDICT: ({ verdict }) => verdict.replace('_', ' '),
      'REASONS BEFORE': ({ before }) => before.reasons,
      'REASONS AFTER': ({ after }) => after.reasons,
    },
    layout,
  );
  return rows + summary + left;
}

function nextStep({ changes, applied }: RescoreResult, apply: boolean): string | undefined {
  if (changes.length === 0) return undefined;
  if (!apply) return 'Nothing was stored. --apply stores the new verdicts.';
  if (applied === changes.length) return 'Stored. The new verdicts apply to conversions received from now on.';
  return `${applied} were stored. The others changed in the meantime: run the same command again to check them.`;
}
