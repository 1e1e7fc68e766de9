import { createHmac, hash, hkdfSync, randomUUID, timingSafeEqual } from 'node:crypto';
import type { TagClick } from '../../events/visitor.events.js';
import { derivedUuid } from '../../kernel/uuid.js';
import { CLICK_IDS, PLATFORM_CLICK_KINDS } from '../../platforms/click-ids.js';
import { visitorSubject } from '../visitor.js';
import type { TagMessage } from './tag-message.js';

const NAME = '_ccv';
const VERSION = '1';
const ID_BYTES = 16;
const TIME_BYTES = 6;
const MARK_BYTES = 6;
const LANDING_BYTES = 1 + MARK_BYTES + TIME_BYTES;
const MAC_BYTES = 16;
/** Longer than a cookie with a landing of every kind. */
const VALUE_MAX = 512;
/** How far the time of another instance, which issued the cookie, may be ahead of this one's. */
const AHEAD_MAX_MS = 5_000;

/** What the service knows about a visitor, kept in the visitor's own browser and signed by the service. */
export interface VisitorCookie {
  /** UUID. */
  readonly id: string;
  /** When the service issued the id. */
  readonly sinceMs: number;
  /** The newest landing of each kind of click id: a digest of the click id, and when the service received it. */
  readonly landings: Readonly<Record<string, Landing>>;
}

interface Landing {
  readonly mark: string;
  readonly atMs: number;
}

/** By the number that a landing has in the cookie. */
const KINDS = new Map(CLICK_IDS.map(([kind, { number }]) => [number, kind]));

type Clicks = Readonly<Partial<Record<string, Pick<TagClick, 'id'>>>>;

/** By the secret of a site. Every call of the tag needs the key, and deriving it costs more than checking a cookie. */
const keys = new Map<string, Buffer>();

/** Derived from the site's secret, which is encrypted again when SECRET_KEY changes: cookies survive the rotation. */
export function cookieKey(siteSecret: string): Buffer {
  let key = keys.get(siteSecret);
  if (!key) {
    key = Buffer.from(hkdfSync('sha256', siteSecret, '', 'visitor cookie', 32));
    keys.set(siteSecret, key);
  }
  return key;
}

/** The first valid cookie of the request. Another host of the same domain may have set a second one. */
export function readVisitorCookie(header: string | undefined, key: Buffer, nowMs: number): VisitorCookie | undefined {
  for (const value of cookieValues(header)) {
    const cookie = open(value, key);
    if (cookie && cookie.sinceMs <= nowMs + AHEAD_MAX_MS) return cookie;
  }
  return undefined;
}

export function hasVisitorCookie(header: string | undefined): boolean {
  return cookieValues(header).length > 0;
}

/** The cookie with the landings of these clicks. A landing that it holds already keeps its time. */
export function withLandings(cookie: VisitorCookie, clicks: Clicks, nowMs: number): VisitorCookie {
  const landings: Record<string, Landing> = { ...cookie.landings };
  for (const kind of PLATFORM_CLICK_KINDS) {
    const id = clicks[kind]?.id;
    if (id === undefined) continue;
    const mark = markOf(kind, id);
    if (landings[kind]?.mark !== mark) landings[kind] = { mark, atMs: nowMs };
  }
  return { ...cookie, landings };
}

/** When the service received the landing of this click; undefined if the cookie does not prove it. */
export function landedMs({ landings }: VisitorCookie, kind: string, id: string): number | undefined {
  const landing = landings[kind];
  return landing?.mark === markOf(kind, id) ? landing.atMs : undefined;
}

/** Value of a `Set-Cookie` header. Only the tag's endpoints receive the cookie, and no script can read it. */
export function setCookie(cookie: VisitorCookie, key: Buffer, maxAgeMs: number, isTls: boolean): string {
  return attributes(seal(cookie, key), Math.floor(maxAgeMs / 1_000), isTls);
}

export function deleteCookie(isTls: boolean): string {
  return attributes('', 0, isTls);
}

/** The visitor that a call of the tag speaks for. */
export interface CallingVisitor {
  /** From the cookie, or new. */
  readonly id: string;
  /** Absent: the call had no valid cookie and is a visitor of its own. */
  readonly cookie?: VisitorCookie | undefined;
  /** When the call was received. */
  readonly nowMs: number;
}

export function callingVisitor(cookie: VisitorCookie | undefined, nowMs: number): CallingVisitor {
  return cookie ? { id: cookie.id, cookie, nowMs } : { id: randomUUID(), nowMs };
}

/**
 * The id under which the visitor states consent, in hex. A denial deletes the cookie, so the tag sends an id of its own, which
 * it keeps with the decision and which cannot be guessed. Undefined when no later call could prove to be the same visitor.
 */
export function speakerOf({ statement }: Pick<TagMessage, 'statement'>, visitor: CallingVisitor): string | undefined {
  if (statement !== undefined) return visitorSubject(derivedUuid(`statement ${statement}`));
  return visitor.cookie && visitorSubject(visitor.id);
}

/** Subject of what is stored before an email is known. The browser's own id links the calls of a browser without cookies. */
export function anonymousSubject(visitor: CallingVisitor, browser: string | undefined): string {
  return visitorSubject(visitor.cookie || browser === undefined ? visitor.id : browser);
}

function attributes(value: string, maxAge: number, isTls: boolean): string {
  return `${NAME}=${value}; Path=/__cc/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${isTls ? '; Secure' : ''}`;
}

function seal({ id, sinceMs, landings }: VisitorCookie, key: Buffer): string {
  const parts = [Buffer.from(id.replaceAll('-', ''), 'hex'), timeBytes(sinceMs)];
  for (const [kind, { number }] of CLICK_IDS) {
    const landing = landings[kind];
    if (landing) parts.push(Buffer.from([number]), Buffer.from(landing.mark, 'hex'), timeBytes(landing.atMs));
  }
  const content = Buffer.concat(parts);
  return `${VERSION}.${content.toString('base64url')}.${macOf(content, key).toString('base64url')}`;
}

function open(value: string, key: Buffer): VisitorCookie | undefined {
  const [version, text = '', signature = '', ...rest] = value.split('.');
  if (version !== VERSION || rest.length > 0 || value.length > VALUE_MAX) return undefined;
  const [content, mac] = [Buffer.from(text, 'base64url'), Buffer.from(signature, 'base64url')];
  if (mac.length !== MAC_BYTES || !timingSafeEqual(mac, macOf(content, key))) return undefined;
  const landings: Record<string, Landing> = {};
  for (let at = ID_BYTES + TIME_BYTES; at + LANDING_BYTES <= content.length; at += LANDING_BYTES) {
    const kind = KINDS.get(content.readUInt8(at));
    const mark = content.toString('hex', at + 1, at + 1 + MARK_BYTES);
    if (kind) landings[kind] = { mark, atMs: content.readUIntBE(at + 1 + MARK_BYTES, TIME_BYTES) };
  }
  const id = content.toString('hex', 0, ID_BYTES).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return { id, sinceMs: content.readUIntBE(ID_BYTES, TIME_BYTES), landings };
}

function macOf(content: Buffer, key: Buffer): Buffer {
  return createHmac('sha256', key).update(content).digest().subarray(0, MAC_BYTES);
}

function markOf(kind: string, id: string): string {
  return hash('sha256', `${kind} ${id}`).slice(0, 2 * MARK_BYTES);
}

function timeBytes(timeMs: number): Buffer {
  const bytes = Buffer.alloc(TIME_BYTES);
  bytes.writeUIntBE(Math.floor(timeMs), 0, TIME_BYTES);
  return bytes;
}

function cookieValues(header: string | undefined): string[] {
  return (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${NAME}=`))
    .map((pair) => pair.slice(NAME.length + 1));
}
