import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type Answer, sendAnswer, textAnswer } from '../../http/answer.js';
import { HotRoutes } from '../../http/hot-routes.js';
import { RequestOrigin } from '../../http/request-origin.js';
import { SETTINGS, type Settings } from '../../kernel/settings/settings.js';
import { SiteDirectory } from '../../sites/site-directory.js';
import { tagScript } from '../../tag/tag-script.js';

const PATH = '/__cc/tag.js';
const DAY_MS = 24 * 60 * 60 * 1_000;
/** Browsers apply changed site settings within this time. */
const CACHED_SECONDS = 300;

const HTTPS_REQUIRED = textAnswer(403, 'HTTPS required');
const NO_SITE = textAnswer(404, 'No site has this host. Add it with "sites add", or as an alias of one.');
const NOT_GET = textAnswer(405, 'Use GET here.', { Allow: 'GET, HEAD' });

/** `GET /__cc/tag.js`: the browser tag, configured with the site's settings. */
@Injectable()
export class TagScriptEndpoint implements OnModuleInit {
  private readonly origin: RequestOrigin;
  private readonly days: number;

  constructor(
    private readonly hotRoutes: HotRoutes,
    private readonly sites: SiteDirectory,
    @Inject(SETTINGS) settings: Settings,
  ) {
    this.origin = new RequestOrigin(settings.trustedProxies);
    this.days = Math.ceil(settings.identifierTtlMs / DAY_MS);
  }

  onModuleInit(): void {
    this.hotRoutes.add(PATH, (request, response) => this.handle(request, response));
  }

  private handle(request: IncomingMessage, response: ServerResponse): void {
    sendAnswer(response, this.answer(request), randomUUID());
  }

  private answer(request: IncomingMessage): Answer {
    if (!this.origin.isSecure(request)) return HTTPS_REQUIRED;
    if (request.method !== 'GET' && request.method !== 'HEAD') return NOT_GET;
    const open = this.sites.find(this.origin.host(request));
    if (!open) return NO_SITE;
    const { consentRequired: required, emailCapture: capture, identifyBy } = open.site.settings;
    const { body, gzip, etag } = tagScript({ required, capture, days: this.days, clicks: identifyBy === 'any' });
    const headers = {
      // Weak, because compressed and plain bodies share it.
      ETag: `W/${etag}`,
      Vary: 'Accept-Encoding',
      'Cache-Control': `public, max-age=${CACHED_SECONDS}`,
      // Lets pages load the script with CORS, which reveals its errors to them; the content is public.
      'Access-Control-Allow-Origin': '*',
      'Cross-Origin-Resource-Policy': 'cross-origin',
    };
    if (matchesEtag(request.headers['if-none-match'], etag)) return { status: 304, type: '', body: '', headers };
    const type = 'text/javascript; charset=utf-8';
    if (!/\bgzip\b/.test(String(request.headers['accept-encoding']))) return { status: 200, type, body, headers };
    return { status: 200, type, body: gzip, headers: { ...headers, 'Content-Encoding': 'gzip' } };
  }
}

function matchesEtag(tags: string | undefined, etag: string): boolean {
  const candidates = (tags ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return candidates.includes(etag) || candidates.includes('*');
}
