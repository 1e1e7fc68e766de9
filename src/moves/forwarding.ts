import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import { INBOUND_PATH } from '../conversions/inbound/inbound-route.js';
import { SOURCES_PATH } from '../conversions/sources/source-route.js';
import { failureAnswer, sendAnswer, textAnswer } from '../http/answer.js';
import type { HotRoutes } from '../http/hot-routes.js';
import { RequestOrigin } from '../http/request-origin.js';
import type { Logger } from '../kernel/logger.js';
import type { Settings } from '../kernel/settings/settings.js';
import {
  decideForwarding,
  FORWARDED_BY,
  type ForwardingDecision,
  NOT_FORWARDED,
} from '../sites/forwarding-decision.js';
import type { Site } from '../sites/site.js';
import type { SiteDirectory } from '../sites/site-directory.js';
import { requestHeaders, responseHeaders } from './forwarded-headers.js';
import { Forwarder, ForwardingFailure } from './forwarder.js';
import type { ForwardingMetrics } from './forwarding-metrics.js';

const RETRY_AFTER = { 'Retry-After': '5' };
/** How long a request may take to arrive. */
const ARRIVAL_MS = 10_000;
const SILENCE_EVERY_MS = 60_000;

/** What operators can do. */
const FIXES = {
  unknown: 'Continue its move with "sites move".',
  loop: 'Another cell forwards them to this one, which the site has left: continue its move with "sites move".',
  address: 'CELL_ADDRESS was not set in the other cell when it moved: let its DNS name lead there.',
  silent: 'Check that the other cell runs, and CELL_ADDRESS there.',
} as const satisfies Record<keyof typeof NOT_FORWARDED, string>;

/** Whose failures are JSON. */
const JSON_PATHS = [INBOUND_PATH, SOURCES_PATH];

type Destination = ForwardingDecision & { kind: 'forward' };

/**
 * Answers requests for sites that have left this cell, until their DNS names lead to the cell that has them: by what that cell
 * answers. Nothing is stored here. One hop only: docs/decisions/0030-moving-a-site.md.
 */
export class Forwarding {
  private readonly origin: RequestOrigin;
  private readonly forwarder: Forwarder;
  /** What was logged of the move of a site. */
  private readonly logged = new Set<string>();
  /** When it was logged last that a cell does not answer, by the name of the cell. */
  private readonly silenceLoggedMs = new Map<string, number>();

  constructor(
    private readonly sites: Pick<SiteDirectory, 'find'>,
    private readonly metrics: Pick<ForwardingMetrics, 'count'>,
    private readonly logger: Pick<Logger, 'info' | 'warn'>,
    private readonly settings: Pick<Settings, 'cell' | 'trustedProxies' | 'countryHeader' | 'inboundDeadlineMs'>,
  ) {
    this.origin = new RequestOrigin(settings.trustedProxies);
    this.forwarder = new Forwarder({ timeoutMs: ARRIVAL_MS + settings.inboundDeadlineMs });
  }

  start(hotRoutes: HotRoutes): void {
    hotRoutes.instead = (request, response) => this.answer(request, response);
  }

  stop(): void {
    this.forwarder.close();
  }

  /** False if the request is for this cell. */
  private answer(request: IncomingMessage, response: ServerResponse): boolean {
    const host = this.origin.host(request);
    const site = this.sites.find(host)?.site;
    const by = request.headers[FORWARDED_BY];
    if (site?.move === undefined && by === undefined) return false;
    const decision = decideForwarding(site, request.url as string, by === undefined ? undefined : String(by));
    // This cell says itself that a request is not secure.
    if (decision.kind === 'here' || !this.origin.isSecure(request)) return false;
    if (decision.kind === 'refuse') {
      const { reason } = decision;
      this.metrics.count(site?.host ?? '', 'refused');
      if (site) this.logRefusal(site, reason);
      refuse(request, response, reason);
    } else void this.forward(request, response, site as Site, host as string, decision);
    return true;
  }

  private async forward(
    request: IncomingMessage,
    response: ServerResponse,
    site: Site,
    host: string,
    { to, address }: Destination,
  ): Promise<void> {
    this.logBegin(site, to, address);
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    try {
      const { method = '', url: path = '' } = request;
      // No other method has a body here, and Node would send one without its length.
      const body = method === 'POST' ? request : undefined;
      const headers = requestHeaders(request.headers, { ...this.client(request, host), hasBody: body !== undefined });
      const answer = await this.forwarder.send(address, { method, path, headers, body, signal: gone.signal });
      this.metrics.count(site.host, 'answered');
      response.writeHead(answer.statusCode as number, responseHeaders(answer.headers));
      // A response that breaks off breaks off for the client, too.
      pipeline(answer, response, () => request.resume());
    } catch (error) {
      if (response.destroyed) return;
      const { outcome, message } =
        error instanceof ForwardingFailure
          ? error
          : { outcome: 'unreachable' as const, message: (error as Error).name };
      this.metrics.count(site.host, outcome);
      if (outcome !== 'busy') this.logSilence(to, message);
      refuse(request, response, 'silent');
    }
  }

  private client(request: IncomingMessage, host: string) {
    const { cell: by, countryHeader } = this.settings;
    const country = countryHeader && {
      header: countryHeader,
      value: this.origin.forwarded(request, countryHeader),
    };
    return { host, by, address: this.origin.address(request), country: country || undefined };
  }

  private logBegin(site: Site, cell: string, address: URL): void {
    if (!this.isNew(site, 'begin')) return;
    this.logger.info('Forwarding requests for a site that has moved, until its DNS name leads to the other cell', {
      ...{ site: site.host, cell, address: address.origin },
    });
  }

  private logRefusal(site: Site, reason: keyof typeof FIXES): void {
    if (!this.isNew(site, reason)) return;
    this.logger.warn(`Requests for a site that has moved are answered with 503. ${FIXES[reason]}`, { site: site.host });
  }

  private isNew({ host, epoch }: Site, what: string): boolean {
    const entry = `${what} ${epoch} ${host}`;
    const isNew = !this.logged.has(entry);
    this.logged.add(entry);
    return isNew;
  }

  private logSilence(cell: string, error: string): void {
    const nowMs = performance.now();
    if (nowMs - (this.silenceLoggedMs.get(cell) ?? Number.NEGATIVE_INFINITY) < SILENCE_EVERY_MS) return;
    this.silenceLoggedMs.set(cell, nowMs);
    this.logger.warn(`A cell does not answer forwarded requests: senders get 503. ${FIXES.silent}`, { cell, error });
  }
}

function refuse(request: IncomingMessage, response: ServerResponse, reason: keyof typeof NOT_FORWARDED): void {
  const text = NOT_FORWARDED[reason];
  const answer = JSON_PATHS.some((path) => request.url?.startsWith(path))
    ? failureAnswer(503, text, RETRY_AFTER)
    : textAnswer(503, text, { ...RETRY_AFTER, Vary: 'Origin' });
  sendAnswer(response, answer, randomUUID());
  // What is left of the body is not read by anything else.
  request.resume();
}
