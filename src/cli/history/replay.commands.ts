import { type Command, Option } from 'commander';
import {
  REPLAY_STATUSES,
  type ReplayCounts,
  ReplayDeliveries,
  type ReplayRequest,
  type ReplayStatus,
} from '../../delivery/replay-deliveries.command.js';
import { ReplayDeliveriesHandler } from '../../delivery/replay-deliveries.handler.js';
import { SITE, streamIdOf } from '../../events/site.events.js';
import { type Bound, positionRangeOf } from '../../history/bound.js';
import { prepareReplay } from '../../history/prepare-replay.js';
import { type Publish, replayEvents } from '../../history/replay-events.js';
import { usesKafka } from '../../kafka/kafka-settings.js';
import { counted } from '../../kernel/counted.js';
import { UserError } from '../../kernel/errors.js';
import type { StoredEvent } from '../../log/event.js';
import { withReaderHold } from '../../log/retention/retention-holds.js';
import type { SiteConnection } from '../../sites/connections/connection.js';
import { connectionOf } from '../../sites/connections/named-connection.js';
import { FROM_HELP, OPTIONAL_TO_HELP, readBound, TO_HELP } from '../arguments/bound-argument.js';
import { readTypes } from '../arguments/filter-options.js';
import { connectionArgument, PLATFORM_HELP } from '../arguments/platform-argument.js';
import { CLI_ACTOR } from '../cli-actor.js';
import { confirm, YES_HELP } from '../confirmation.js';
import type { Layout } from '../output/layout.js';
import { progressBar } from '../output/output.js';
import { table } from '../output/table.js';
import type { Session } from '../session.js';
import { commandGroup, subcommand, UsageError } from '../subcommand.js';
import { noteRemoved } from './removed-events.js';

const PROGRESS_EVERY = 100;

interface DeliveriesOptions {
  readonly site: string;
  readonly platform: string;
  readonly from?: Bound;
  readonly to?: Bound;
  readonly conversion?: string;
  readonly status?: ReplayStatus;
  readonly dryRun?: true;
  readonly force?: true;
  readonly yes?: true;
  readonly json?: true;
}

interface EventsOptions {
  readonly from: Bound;
  readonly to: Bound;
  readonly type?: string[];
  readonly site?: string;
  readonly toTopic: string;
  readonly json?: true;
}

export function addReplay(program: Command, session: Session): void {
  const { output } = session;
  const replay = commandGroup(
    program,
    'replay',
    'Repeat deliveries, publish events again, or print an earlier state of a projection',
  );

  subcommand(
    replay,
    'deliveries',
    'Send conversions again whose delivery to a platform failed, was skipped, is queued or did not exist yet',
    'replay deliveries --site shop.example --platform meta --from 2025-03-01 --to 2025-03-02 --dry-run',
  )
    .requiredOption('--site <host>', 'site of the conversions')
    .requiredOption('--platform <platform>', `deliveries ${PLATFORM_HELP}`)
    .option('--from <when>', FROM_HELP, readBound)
    .option('--to <when>', OPTIONAL_TO_HELP, readBound)
    .addOption(new Option('--conversion <id>', 'send only this conversion').conflicts(['from', 'to']))
    .addOption(
      new Option('--status <status>', 'only deliveries with this status (default: failed and skipped)').choices(
        REPLAY_STATUSES,
      ),
    )
    .option('--dry-run', 'count the conversions without sending them')
    .option('--force', 'send again even if accepted, under a new id, so that it counts twice; requires --conversion')
    .option('--yes', `with --force: ${YES_HELP}`)
    .action(async (options: DeliveriesOptions) => {
      const { conversion, dryRun = false, force = false, json } = options;
      if (conversion === undefined && options.from === undefined) {
        throw new UsageError('Select conversions with --from <when> and --to <when>, or one with --conversion <id>.');
      }
      if (force && conversion === undefined) {
        throw new UsageError('--force makes a conversion count twice, so it requires --conversion <id>.');
      }
      const { log, site, postgres } = await session.openSite(options.site);
      const { name } = connectionArgument(site, options.platform);
      const connection = connectionOf(site, name);
      const prepared = await prepareReplay(log, site, { ...options, platform: name });
      const question = `Send the conversion to ${name} again under a new id? It counts twice.`;
      if (force && !dryRun) await confirm(session, options, question, 'go on');
      const request: ReplayRequest = {
        ...prepared,
        site: site.host,
        siteVersion: ((await log.readStream(SITE, streamIdOf(site.host))).at(-1) as StoredEvent).version,
        nowMs: postgres.clock.nowMs(),
        dryRun,
      };
      const command = new ReplayDeliveries(CLI_ACTOR, request);
      const onProgress = (checked: number) => {
        session.throwIfStopped(
          'Interrupted before all conversions were checked. Run the same command again to continue.',
        );
        if (checked % PROGRESS_EVERY === 0) output.progress(`${counted(checked, 'conversion')} checked`);
      };
      const range = 'conversion' in request.range ? undefined : request.range;
      const counts = await withReaderHold(postgres, 'replay deliveries', range?.after ?? 0, (hold) => {
        if (range) noteRemoved(output, range, hold);
        return new ReplayDeliveriesHandler(log).execute(command, { onProgress });
      });
      output.endProgress();
      await output.show(json, { ...counts, dryRun }, (layout) => countsText(counts, request, layout));
      const next = nextStep(counts, request, connection);
      if (next !== undefined && !json) output.note(next);
    });

  subcommand(
    replay,
    'events',
    'Publish events again, in order, to a Kafka topic of your choice',
    'replay events --from 2025-03-01 --to 2025-03-02 --to-topic audit.march',
  )
    .requiredOption('--from <when>', FROM_HELP, readBound)
    .requiredOption('--to <when>', TO_HELP, readBound)
    .option('--type <type>', 'only events of this type; may be repeated', readTypes)
    .option('--site <host>', 'only events of this site (host or alias)')
    .requiredOption('--to-topic <topic>', 'target topic; must not be one that the service writes to')
    .action(async ({ from, to, type: types, site: host, toTopic: topic, json }: EventsOptions) => {
      const { log, sites, postgres, settings } = await session.open();
      const site = host === undefined ? undefined : (await sites.get(host)).host;
      if (!usesKafka(settings))
        throw new UserError('Kafka is not configured: set KAFKA_BROKERS to the addresses of your brokers.');
      const { TopicPublisher } = await import('../../kafka/topic-publisher.js');
      const publisher = await TopicPublisher.open(settings, topic);
      const publish: Publish = (events) => publisher.publish(events);
      const range = await positionRangeOf(log, { from, to }, site === undefined ? undefined : { host: site });
      const client = await postgres.connect('replay');
      try {
        const progress = (events: number, position: number) => {
          session.throwIfStopped(
            `Interrupted. Events up to ${position} are on ${topic}; continue with --from ${position + 1}.`,
          );
          output.progress(`${counted(events, 'event is', 'events are')} on ${topic}`);
        };
        const counts = await withReaderHold(postgres, 'replay events', range.after, (hold) => {
          noteRemoved(output, range, hold);
          return replayEvents(client, publish, { ...range, types, site, topic }, progress);
        });
        output.endProgress();
        await output.show(
          json,
          { topic, ...counts },
          () => `${counted(counts.events, 'event is', 'events are')} on ${topic}.\n`,
        );
      } finally {
        await client.end();
        await publisher.close();
      }
    });

  subcommand(
    replay,
    'projection <name>',
    'Print a projection as of a position or time, one row per line. The live table is unchanged.',
    'replay projection sites --until 2025-03-01',
  )
    .requiredOption('--until <when>', 'last position, inclusive, or a time', readBound)
    .action(async (name: string, { until }: { until: Bound }) => {
      const { log, projections } = await session.open();
      const head = await log.head();
      const position = 'position' in until ? until.position : await log.positionBefore(until.time);
      const snapshot = await projections.asOf(name, position, (reached) => {
        session.throwIfStopped('Interrupted before the projection was complete. Run the command again.');
        output.progress(`${progressBar(Math.min(1, reached / Math.min(head, position)))}  ${name}`);
      });
      output.endProgress();
      try {
        for await (const rows of snapshot.rows())
          await output.print(rows.map((row) => `${name === 'sites' ? withoutKeyHashes(row) : row}\n`).join(''));
      } finally {
        await snapshot.end();
      }
    });
}

/** As for events: only authentication needs the hash of an API key. */
function withoutKeyHashes(row: string): string {
  const site = JSON.parse(row) as { keys: { hash?: string }[] };
  return JSON.stringify({ ...site, keys: site.keys.map(({ hash: _, ...key }) => key) });
}

function countsText(
  { requested, byStatus }: ReplayCounts,
  { platform, dryRun }: ReplayRequest,
  layout: Layout,
): string {
  const statuses = Object.entries(byStatus);
  const total = statuses.reduce((sum, [, count]) => sum + count, 0);
  const summary = `${requested} of ${total} ${dryRun ? 'would be' : 'are being'} sent to ${platform}.\n`;
  if (total === 0) return summary;
  return table(statuses, { STATUS: ([status]) => status, CONVERSIONS: ([, count]) => count }, layout) + summary;
}

/** What happens next or what the operator has to do; or why nothing was sent. */
function nextStep(
  { requested, byStatus }: ReplayCounts,
  { site, platform, range, dryRun }: ReplayRequest,
  { state }: SiteConnection,
): string | undefined {
  if (requested > 0 && dryRun) return undefined;
  if (requested > 0 && state === 'active')
    return 'A running service sends them now, otherwise the service sends them when it starts.';
  if (requested > 0)
    return `${platform} is ${state}: they are queued until "platforms resume ${platform} --site ${site}".`;
  if (!('conversion' in range)) return undefined;
  if (byStatus['queued']) return 'It is queued, and the service sends it at its next attempt.';
  if (byStatus['not_connected'])
    return `${platform} was not connected when the conversion was received. --status not_connected sends it.`;
  if (byStatus['delivered'] || byStatus['accepted'])
    return `${platform} has accepted it. --force sends it again under a new id.`;
  return 'It was received with a trial key. Such conversions are never sent.';
}
