import { type Outcome } from '../events/delivery.events.js';
import { shorten } from '../platforms/common-verdict.js';
import type { Connection, Platform, PlatformName, PlatformRequest, PlatformResponse } from '../platforms/platform.js';
import type { AccessTokens } from './access-tokens.js';
import { isoTime, type Words } from './delivery.js';
import type { ReceivedConversion } from './received.js';
import type { Due } from './retries.js';

const DAY_MS = 86_400_000;
/** Conversions of one call share its request id, and an answer. */
const ANSWER_GOOD_FOR_MS = 10_000;

export interface ConfirmationWorld {
  platform(name: PlatformName): Platform | undefined;
  connection(site: string, name: PlatformName): Connection | undefined;
  send(platform: Platform, request: PlatformRequest, connection: Connection): Promise<PlatformResponse>;
  /** For the metrics. */
  count(outcome: Outcome): void;
}

export interface Question {
  readonly row: Due;
  readonly received: ReceivedConversion;
  readonly attempt: number;
}

/** Asks platforms what became of conversions they had only accepted. */
export class Confirmations {
  private readonly answers = new Map<string, { readonly asked: number; readonly word: Promise<Words> }>();

  constructor(
    private readonly world: ConfirmationWorld,
    private readonly tokens: AccessTokens,
    private readonly pollMs: number,
  ) {}

  ask({ row, received, attempt }: Question, done: (outcome: Outcome) => void): void {
    const { platform, site, details } = row;
    const key = `${site} ${platform} ${details.requestId}`;
    const now = performance.now();
    for (const [old, { asked }] of this.answers) if (now - asked > ANSWER_GOOD_FOR_MS) this.answers.delete(old);
    let known = this.answers.get(key);
    if (!known) {
      known = { asked: now, word: this.askPlatform(site, platform, details.requestId as string) };
      this.answers.set(key, known);
    }
    void known.word.then((word) => {
      const late = Date.now() - Date.parse(received.time) > DAY_MS;
      // After a day it will not say any more: accepted is then its last word.
      const nextTry = late && word.status === 'accepted' ? undefined : word.nextTry;
      const { conversionId } = received.data;
      const { bodySha256, eventId, settings } = details;
      const outcome = { conversionId, platform, attempt, bodySha256, eventId, settings, ...word, nextTry };
      this.world.count(outcome);
      done(outcome);
    });
  }

  private async askPlatform(site: string, name: PlatformName, requestId: string): Promise<Words> {
    const platform = this.world.platform(name);
    const connection = this.world.connection(site, name);
    const later: Words = { status: 'accepted', requestId, nextTry: isoTime(Date.now() + this.pollMs) };
    if (!platform?.confirmation || !connection) return { status: 'accepted', requestId };
    const started = performance.now();
    try {
      const accessToken = await this.tokens.get(site, platform, connection);
      const call = { connection, accessToken, nowMs: Date.now() };
      const response = await this.world.send(platform, platform.confirmation.request(requestId, call), connection);
      const verdict = platform.confirmation.verdict(response);
      const told = { requestId, httpStatus: response.status, durationMs: Math.round(performance.now() - started) };
      switch (verdict.kind) {
        case 'delivered':
          return { ...told, status: 'confirmed' };
        case 'rejected':
          return { ...told, status: 'rejected', reason: shorten(verdict.reason) };
        case 'split':
          // Some of the call's conversions count and some do not, and it does not say which: each is asked about alone.
          return { ...told, status: 'deferred', reason: 'pending', alone: true, nextTry: isoTime(Date.now()) };
        case 'retry':
          // With a wait: it wants to be sent the conversion again, not to be asked again.
          if (verdict.afterMs === undefined) return { ...told, ...later };
          return { ...told, status: 'deferred', reason: 'pending', nextTry: isoTime(Date.now() + verdict.afterMs) };
        default:
          return { ...told, ...later };
      }
    } catch {
      // Wrong credentials park a connection when something is sent with them; here they only cost a round.
      return later;
    }
  }
}
