import { Readable } from 'node:stream';
import type { RedactedEvent } from '../../history/redact-event.js';
import { may, type Principal, seesSite } from '../../users/access.js';
import type { Credential } from '../access/credentials.js';

/** What waits for a slow reader at most. One that does not keep up is closed, and continues later where it was. */
const BUFFER_MAX_BYTES = 1024 * 1024;
/** How long the bytes before the end may take to be sent. */
const END_MS = 1_000;

/** Which events a reader wants. */
export interface StreamSelection {
  readonly site?: string | undefined;
  readonly types?: readonly string[] | undefined;
  /** By host, for a reader who may not see all sites: the position after which events are of the site that has the host now. */
  readonly after?: ReadonlyMap<string, number> | undefined;
}

/** An event, and the lines that describe it in a stream. */
interface StreamedEvent {
  readonly position: number;
  readonly type: string;
  readonly site: string;
  readonly lines: string;
}

export function streamedEvent({ personal: _, ...event }: RedactedEvent): StreamedEvent {
  const { position, type, site } = event;
  return { position, type, site, lines: `id: ${position}\ndata: ${JSON.stringify(event)}\n\n` };
}

/** The body of an answer that sends events as they happen (server-sent events). */
export class EventStream extends Readable {
  /** Everything up to it was sent or does not match. */
  position = 0;
  /** Whether it gets new events from the tail; before that it reads earlier ones. */
  isLive = false;
  /** When its access was confirmed, by the clock of `performance`. */
  checkedMs = performance.now();
  private isFinished = false;
  private onDrained: (() => void) | undefined;

  constructor(
    readonly principal: Principal,
    readonly credential: Credential,
    readonly selection: StreamSelection,
  ) {
    super({ highWaterMark: BUFFER_MAX_BYTES / 4 });
    this.once('close', () => this.onDrained?.());
  }

  override _read(): void {
    this.onDrained?.();
  }

  /** Events in log order. `until`: all events up to it are among them. */
  send(events: readonly StreamedEvent[], until: number): void {
    const wanted = events.filter((event) => event.position > this.position && this.sees(event));
    this.position = Math.max(this.position, until);
    this.write(wanted.map(({ lines }) => lines).join(''));
    const isRemoved = ({ type, site }: StreamedEvent) => type === 'site.removed.v1' && site === this.selection.site;
    if (events.some(isRemoved)) this.finish();
  }

  /** Tells the reader how far it is, so that it need not read everything again after a quiet time. */
  sendPosition(): void {
    this.write(`id: ${this.position}\n\n`);
  }

  write(lines: string): void {
    if (lines === '' || this.isFinished || this.destroyed) return;
    this.push(lines);
    if (this.readableLength > BUFFER_MAX_BYTES) this.destroy();
  }

  /** Resolves when what was written is being sent, or the stream is closed. */
  drained(): Promise<void> {
    if (this.destroyed || this.readableLength < this.readableHighWaterMark) return Promise.resolve();
    return new Promise((resolve) => {
      this.onDrained = resolve;
    });
  }

  /** Ends the answer. A reader that does not read is not waited for. */
  finish(): void {
    if (this.isFinished || this.destroyed) return;
    this.isFinished = true;
    this.push(null);
    const timer = setTimeout(() => this.destroy(), END_MS);
    this.once('close', () => clearTimeout(timer));
  }

  sees({ type, site, position }: Pick<StreamedEvent, 'type' | 'site' | 'position'>): boolean {
    const { selection, principal } = this;
    if (position <= (selection.after?.get(site) ?? 0)) return false;
    if (selection.types && !selection.types.includes(type)) return false;
    if (selection.site !== undefined) return site === selection.site;
    // Events that concern the whole installation.
    return site === '' ? may(principal, 'administer') : seesSite(principal, site);
  }
}
