import { hostname } from 'node:os';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Counter, Gauge, Registry } from 'prom-client';
import { CLOCK_STREAM, LOG, type LogEvent, NO_SITE } from '../events/log.events.js';
import { Logger } from '../kernel/logger.js';
import { EventLog } from '../log/event-log.js';
import {
  type ClockStep,
  DIFFERENCE_MAX_MS,
  describeDifference,
  describeStep,
  STEP_MS,
} from '../postgres/database-clock.js';
import { Postgres } from '../postgres/postgres.js';

/** A clock that steps all the time must not fill the memory while nothing can be appended. */
const PENDING_MAX = 100;
/** Instances notice the same step within the time between two samples, or when their connection is back. */
const SAME_STEP_WITHIN_MS = 60_000;

type Stepped = LogEvent & { type: 'log.clock_stepped.v1' };

/** Reports steps of the database's clock and its difference to the clock of this process. */
@Injectable()
export class ClockWatch implements OnApplicationShutdown {
  /** Not appended yet: a step is noticed while appends are refused because of it. */
  private pending: Stepped[] = [];
  private recording: Promise<void> | undefined;
  private isDifferent = false;
  private readonly unsubscribe: () => void;

  constructor(
    private readonly postgres: Postgres,
    private readonly log: EventLog,
    private readonly logger: Logger,
    registry: Registry,
  ) {
    const { clock } = postgres;
    const steps = new Counter({
      name: 'cc_clock_steps_total',
      help: "Steps of the database's clock by more than 5 s that this instance noticed",
      registers: [registry],
    });
    new Gauge({
      name: 'cc_clock_difference_seconds',
      help: "The database's clock minus the clock of this process",
      registers: [registry],
      collect() {
        this.set(clock.differenceMs() / 1_000);
      },
    });
    this.unsubscribe = clock.onStep((step) => {
      steps.inc();
      this.noteStep(step);
    });
  }

  @Interval(1_000)
  async check(): Promise<void> {
    this.warnAboutDifference();
    if (this.pending.length === 0 || this.postgres.clock.refusal()) return;
    this.recording ??= this.record()
      // The log is unavailable: the next check tries again.
      .catch(() => {})
      .finally(() => {
        this.recording = undefined;
      });
    await this.recording;
  }

  async onApplicationShutdown(): Promise<void> {
    this.unsubscribe();
    await this.recording;
  }

  private noteStep({ beforeMs, afterMs, isTrusted }: ClockStep): void {
    const stepMs = Math.round(afterMs - beforeMs);
    const [before, after] = [new Date(beforeMs).toISOString(), new Date(afterMs).toISOString()];
    this.logger.warn(
      `The database's clock jumped ${describeStep(stepMs)}. ${
        isTrusted ? 'The new time is followed.' : 'Appends are refused until it steps back or is steady for 30 s.'
      }`,
      { before, after },
    );
    if (this.pending.length === PENDING_MAX) return;
    const data = { before, after, stepMs, followed: isTrusted, instance: hostname() };
    this.pending.push({ type: 'log.clock_stepped.v1', data });
  }

  private async record(): Promise<void> {
    for (let step = this.pending[0]; step; step = this.pending[0]) {
      if (await this.append(step)) this.pending.shift();
    }
  }

  /** False if another instance appended at the same moment. */
  private async append(step: Stepped): Promise<boolean> {
    const known = await this.log.readStream(LOG, CLOCK_STREAM);
    if (known.some(({ type, data }) => type === step.type && isSameStep(data, step.data))) return true;
    const outcome = await this.log.append({
      ...{ category: LOG, stream: CLOCK_STREAM, site: NO_SITE, actor: 'system' },
      expected: known.at(-1)?.version ?? 0,
      events: [step],
    });
    return outcome.status === 'appended';
  }

  private warnAboutDifference(): void {
    const differenceMs = this.postgres.clock.differenceMs();
    const isDifferent = Math.abs(differenceMs) > DIFFERENCE_MAX_MS;
    if (isDifferent && !this.isDifferent)
      this.logger.warn(`Synchronise the clocks with NTP: ${describeDifference(differenceMs)}`);
    this.isDifferent = isDifferent;
  }
}

function isSameStep(one: Stepped['data'], other: Stepped['data']): boolean {
  return (
    Math.abs(one.stepMs - other.stepMs) <= STEP_MS &&
    Math.abs(Date.parse(one.before) - Date.parse(other.before)) <= SAME_STEP_WITHIN_MS
  );
}
