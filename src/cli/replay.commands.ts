import { type Command, Option } from 'commander';
import { type ReplayCounts, ReplayDeliveries, type ReplayRequest } from '../delivery/replay-deliveries.command.js';
import { ReplayDeliveriesHandler } from '../delivery/replay-deliveries.handler.js';
import { SITE } from '../events/site.events.js';
import { type Bound, positionRangeOf } from '../history/bound.js';
import { type Publish, replayEvents } from '../history/replay-events.js';
import { usesKafka } from '../kafka/client.js';
import { TopicPublisher } from '../kafka/topic-publisher.js';
import { UserError } from '../kernel/errors.js';
import type { EventLog } from '../log/event-log.js';
import type { SiteConnection } from '../sites/connection.js';
import { type Site } from '../sites/site.js';
import { readBound } from './bound-argument.js';
import { readConversion, statusOf } from './conversion-story.js';
import { progressBar, table } from './output.js';
import { connectionOf, readPlatform } from './platform-argument.js';
import type { Session } from './session.js';
import { collect, commandGroup, verb, WrongUsage } from './verb.js';

const PROGRESS_EVERY = 100;

interface DeliveriesOptions {
  readonly site: string;
  readonly platform: string;
  readonly from?: Bound;
  readonly to?: Bound;
  readonly conversion?: string;
  readonly dryRun?: true;
  readonly force?: true;
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
  const replay = commandGroup(program, 'replay', 'Do again what the log has recorded');

  verb(
    replay,
    'deliveries',
    'Send conversions to a platform that has not taken them: those that failed or were skipped',
    'replay deliveries --site shop.example --platform meta --from 2025-03-01 --to 2025-03-02 --dry-run',
  )
    .requiredOption('--site <host>', 'whose conversions')
    .requiredOption('--platform <platform>', 'to which of its platforms')
    .option('--from <when>', 'received from this position or time (UTC unless it says otherwise) on', readBound)
    .option('--to <when>', 'up to, and without, this position or time; unless given, up to now', readBound)
    .addOption(new Option('--conversion <id>', 'this one alone').conflicts(['from', 'to']))
    .option('--dry-run', 'only count them')
    .option('--force', 'also if the platform took it: under a new id, so that it counts once more; needs --conversion')
    .action(async (options: DeliveriesOptions) => {
      const { conversion, dryRun = false, force = false, json } = options;
      if (conversion === undefined && options.from === undefined) {
        throw new WrongUsage('Say which conversions: --from <when> and --to <when>, or --conversion <id>.');
      }
      if (force && conversion === undefined) {
        throw new WrongUsage('--force counts a conversion once more: name the one with --conversion <id>.');
      }
      const platform = readPlatform(options.platform);
      const { log, sites } = await session.open();
      const site = await sites.get(options.site);
      const connection = connectionOf(site, platform);
      const request: ReplayRequest = {
        site: site.host,
        platform: platform.name,
        range: await rangeOf(log, site, options),
        settings: (await log.readStream(SITE, site.id)).at(-1)?.position as number,
        force,
        dryRun,
      };
      const command = new ReplayDeliveries('cli', request);
      const counts = await new ReplayDeliveriesHandler(log).execute(command, (looked) => {
        if (session.stop.aborted) {
          throw new UserError('Interrupted: not all were looked at. The same line again goes on with the rest.');
        }
        if (looked % PROGRESS_EVERY === 0) output.progress(`${looked} conversions looked at`);
      });
      output.endProgress();
      await output.show(json, { ...counts, dryRun }, () => countsText(counts, request));
      const next = nextStep(counts, request, connection);
      if (next !== undefined && !json) output.note(next);
    });

  verb(
    replay,
    'events',
    'Put events on a Kafka topic of your choice, once more and in order',
    'replay events --from 2025-03-01 --to 2025-03-02 --to-topic audit.march',
  )
    .requiredOption('--from <when>', 'from this position or time (UTC unless it says otherwise) on', readBound)
    .requiredOption('--to <when>', 'up to, and without, this position or time', readBound)
    .option('--type <type>', 'only events of this type; may be repeated', collect)
    .option('--site <host>', 'only events of this site (an alias will do)')
    .requiredOption('--to-topic <topic>', 'the topic; not one that the service itself writes')
    .action(async ({ from, to, type: types, site: host, toTopic: topic, json }: EventsOptions) => {
      const { log, sites, postgres, settings } = await session.open();
      const site = host === undefined ? undefined : (await sites.get(host)).host;
      if (!usesKafka(settings))
        throw new UserError('Kafka is not configured: set KAFKA_BROKERS to the addresses of your brokers.');
      const publisher = await TopicPublisher.open(settings, topic);
      const publish: Publish = (events) => publisher.publish(events);
      const stretch = await positionRangeOf(log, { from, to });
      const client = await postgres.connect('replay');
      try {
        const counts = await replayEvents(client, publish, { ...stretch, types, site, topic }, (events, position) => {
          if (session.stop.aborted) {
            throw new UserError(`Interrupted: go on with --from ${position + 1}. Up to there all is on ${topic}.`);
          }
          output.progress(`${events} events are on ${topic}`);
        });
        output.endProgress();
        await output.show(json, { topic, ...counts }, () => `${counts.events} events are on ${topic}.\n`);
      } finally {
        await client.end();
        await publisher.close();
      }
    });

  verb(
    replay,
    'projection <name>',
    'A read model as it was: folded from the log up to then, one row per line. The present one stays as it is.',
    'replay projection sites --until 2025-03-01',
  )
    .requiredOption('--until <when>', 'up to and with this position, or up to this time', readBound)
    .action(async (name: string, { until }: { until: Bound }) => {
      const { log, projections } = await session.open();
      const head = await log.head();
      const position = 'position' in until ? until.position : await log.positionBefore(until.time);
      const then = await projections.asOf(name, position, (reached) => {
        if (session.stop.aborted) throw new UserError('Interrupted: the read model was not folded to its end.');
        output.progress(`${progressBar(Math.min(1, reached / Math.min(head, position)))}  ${name}`);
      });
      output.endProgress();
      try {
        for await (const rows of then.rows()) await output.print(rows.map((row) => `${row}\n`).join(''));
      } finally {
        await then.end();
      }
    });
}

async function rangeOf(
  log: EventLog,
  { host }: Site,
  { conversion, from, to }: DeliveriesOptions,
): Promise<ReplayRequest['range']> {
  if (conversion !== undefined) {
    const [opening] = await readConversion(log, host, conversion);
    if (opening.type === 'conversion.received.v1') return { conversion: conversion.toLowerCase() };
    const status = statusOf(opening);
    throw new UserError(
      `Conversion ${conversion} was ${status}, so it is not sent. "events show --conversion ${conversion}" tells why.`,
    );
  }
  return positionRangeOf(log, { ...(from && { from }), ...(to && { to }) });
}

function countsText({ requested, byStatus }: ReplayCounts, { platform, dryRun }: ReplayRequest): string {
  const statuses = Object.entries(byStatus);
  const total = statuses.reduce((sum, [, count]) => sum + count, 0);
  const summary = `${requested} of ${total} ${dryRun ? 'would be' : 'are being'} sent to ${platform}.\n`;
  if (total === 0) return summary;
  return table(statuses, { STATUS: ([status]) => status, CONVERSIONS: ([, count]) => count }) + summary;
}

/** What the operator has to know or do, so that they arrive; or why there was nothing to send. */
function nextStep(
  { requested, byStatus }: ReplayCounts,
  { site, platform, range, dryRun }: ReplayRequest,
  { state }: SiteConnection,
): string | undefined {
  if (requested > 0 && dryRun) return undefined;
  if (requested > 0 && state === 'active') return 'A running service sends them now; without one, its next start does.';
  if (requested > 0) return `${platform} is ${state}: they wait until "platforms resume ${platform} --site ${site}".`;
  if (!('conversion' in range)) return undefined;
  if (byStatus['queued']) return 'It is waiting for its next try and goes out by itself.';
  if (byStatus['not_connected']) return `${platform} was not connected when it came in.`;
  if (byStatus['delivered'] || byStatus['accepted'])
    return `${platform} has taken it. --force sends it once more, under a new id.`;
  return 'It came with a trial key: such conversions are never sent.';
}
