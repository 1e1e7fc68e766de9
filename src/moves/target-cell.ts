import { setTimeout as sleep } from 'node:timers/promises';
import type { CopiedLease } from '../delivery/delivery-leases.js';
import { HttpClient, type HttpRequest } from '../http/client/http-client.js';
import type { HttpResponse } from '../http/client/response.js';
import { messageOf, UserError } from '../kernel/errors.js';
import type { Cell } from '../kernel/settings/settings.js';
import type { EventName } from '../log/site-copy/site-pages.js';
import type { SiteSecret } from '../sites/site-secrets.js';
import type { ArrivalState, Beginning, CellState } from './arrival.js';
import { encodeSecrets } from './secrets-limit.js';

const TIMEOUT_MS = 30_000;
/** A cell that is restarted, or fails over, answers again within this time. */
const RETRIED_FOR_MS = 60_000;
const RETRY_FIRST_MS = 200;
const RETRY_MAX_MS = 5_000;

/** A page of events in the text format of COPY: those after one position of the log, up to another one. */
export interface EventPage {
  readonly after: number;
  readonly last: number;
  readonly rows: Buffer;
}

/** The management API of the cell that a site moves to. Every call can be repeated, and is while the cell does not answer. */
export class TargetCell {
  private readonly client = new HttpClient({ connectionsPerOrigin: 1, timeoutMs: TIMEOUT_MS, allowPrivate: true });

  constructor(
    private readonly cell: Cell,
    private readonly site: string,
    private readonly options: { readonly stop: AbortSignal; onWait(reason: string): void },
  ) {}

  state(): Promise<CellState> {
    return this.call<CellState>('GET', '');
  }

  /** `nowMs`: the time of the database. Each try states its own: the other cell compares it with its time. */
  begin({ site: _, dedupSecret, ...beginning }: Omit<Beginning, 'timeMs'>, nowMs: () => number): Promise<ArrivalState> {
    const encoded = { ...beginning, dedupSecret: dedupSecret.toString('base64') };
    return this.call<ArrivalState>('POST', '', () => ({ ...encoded, timeMs: nowMs() }));
  }

  storeEvents(epoch: number, { after, last, rows }: EventPage): Promise<ArrivalState> {
    return this.call<ArrivalState>('POST', `/events?epoch=${epoch}&after=${after}&last=${last}`, rows);
  }

  storeErased(epoch: number, events: readonly EventName[]): Promise<{ left: number }> {
    return this.call<{ left: number }>('POST', '/erased', { epoch, events });
  }

  async storeSecrets(epoch: number, secrets: readonly SiteSecret[]): Promise<void> {
    await this.call('POST', '/secrets', { epoch, secrets: encodeSecrets(secrets) });
  }

  async storeLeases(epoch: number, leases: readonly CopiedLease[]): Promise<void> {
    await this.call('POST', '/leases', { epoch, leases });
  }

  open(epoch: number, other: { readonly position: number; readonly head: string }): Promise<ArrivalState> {
    return this.call<ArrivalState>('POST', '/open', { epoch, ...other });
  }

  close(): Promise<void> {
    return this.client.close();
  }

  /** `body`: a function returns it anew for each try. */
  private async call<Result>(
    method: 'GET' | 'POST',
    path: string,
    body?: object | Buffer | (() => object),
  ): Promise<Result> {
    const request = () => this.requestOf(method, path, typeof body === 'function' ? body() : body);
    const startedMs = performance.now();
    for (let delayMs = RETRY_FIRST_MS; ; delayMs = Math.min(2 * delayMs, RETRY_MAX_MS)) {
      const answer = await this.client.send(request()).catch((error: unknown) => messageOf(error));
      const reason = typeof answer === 'string' ? answer : waitReason(answer);
      if (reason === undefined) return this.resultOf(answer as HttpResponse) as Result;
      this.options.stop.throwIfAborted();
      if (performance.now() - startedMs > RETRIED_FOR_MS)
        throw new UserError(
          `Cell ${this.cell.name} does not answer at ${this.cell.url}: ${reason} Run the same command again when it does; it continues.`,
        );
      this.options.onWait(reason);
      await sleep(delayMs, undefined, { signal: this.options.stop });
    }
  }

  private requestOf(method: 'GET' | 'POST', path: string, body: object | Buffer | undefined): HttpRequest {
    const url = `${this.cell.url}/api/v1/sites/${encodeURIComponent(this.site)}/arrival${path}`;
    const headers = { authorization: `Bearer ${this.cell.token}`, accept: 'application/json' };
    if (body === undefined) return { method, url, headers };
    const isRows = Buffer.isBuffer(body);
    const type = isRows ? 'application/octet-stream' : 'application/json';
    return {
      ...{ method, url, headers: { ...headers, 'content-type': type } },
      body: isRows ? body.toString('utf8') : JSON.stringify(body),
    };
  }

  private resultOf({ status, json }: HttpResponse): unknown {
    if (status === 200) return json;
    if (status === 204) return undefined;
    const { name, url } = this.cell;
    if (status === 401 || status === 403)
      throw new UserError(
        `Cell ${name} refuses the token in CELL_MOVE_TOKENS. Create one there with the scope move, for all sites or for ${this.site}.`,
      );
    const { detail } = (json ?? {}) as { detail?: unknown };
    if (typeof detail !== 'string')
      throw new UserError(`Cell ${name} answered with status ${status}. Check its address in CELLS: ${url}`);
    throw new UserError(
      status === 404
        ? `Cell ${name} does not know this request: ${detail} Check the sites of its token, and that both cells have the same version.`
        : `Cell ${name} refuses: ${detail}`,
    );
  }
}

function waitReason({ status, json }: HttpResponse): string | undefined {
  if (status !== 429 && status !== 502 && status !== 503 && status !== 504) return undefined;
  const { detail } = (json ?? {}) as { detail?: unknown };
  return typeof detail === 'string' ? detail : `Status ${status}.`;
}
