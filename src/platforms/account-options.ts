import { UserError } from '../kernel/errors.js';
import { at, redact } from './common-verdict.js';
import type { Call, Field, PlatformRequest, PlatformResponse, Settings } from './platform.js';

/** What a person's account at a platform has, to pick from when a connection is set up. */
export interface AccountOptions {
  /** An option stands after the one that it belongs to. */
  readonly options: readonly AccountOption[];
  /** There is more than is listed. */
  readonly truncated: boolean;
}

export interface AccountOption {
  /** The setting that `value` is for; `event` stands for `event.<ours>`. Without it, the option only groups others. */
  readonly setting?: string;
  readonly value: string;
  /** One line of plain text, not HTML. */
  readonly label: string;
  /** Other settings that come with the choice, such as the manager that gives access to a customer. An empty text removes one. */
  readonly also?: Settings;
  /** The value of the option that it belongs to. */
  readonly parent?: string;
  /** The event of ours that it is meant for, if the platform says so. */
  readonly suits?: 'purchase' | 'lead' | 'signup';
  /** What belongs to it is listed only by a call with its value as `account`. */
  readonly unlisted?: true;
  /** Why what belongs to it cannot be listed, and what to do about it. */
  readonly problem?: string;
}

export interface ListingCall extends Call {
  /** List what belongs to this account, instead of to the first ones: the value of an option that others belong to. */
  readonly account?: string | undefined;
}

/**
 * Yields a request at a time and gets its answer, so that the listing of a platform needs no I/O. Adds what it finds to the
 * list, and throws `ListingRefused`.
 */
export type Listing = Generator<PlatformRequest, void, PlatformResponse>;

export type RefusalKind = 'unauthorized' | 'forbidden' | 'throttled' | 'unavailable' | 'refused';

/** The platform does not list what the account has. */
export class ListingRefused extends UserError {
  constructor(
    readonly kind: RefusalKind,
    message: string,
  ) {
    super(message);
  }
}

const OPTIONS_MAX = 2_000;
const PAGES_MAX = 10;
/** Of so many accounts it is listed what they have, unless the call is for a certain one. */
const ACCOUNTS_OPENED_MAX = 10;

const LABEL_MAX = 120;
const ID = /^[\w.:-]{1,64}$/;
/** Control and formatting characters (among them those that change the direction of text), unpaired surrogates, line ends. */
const UNSHOWABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu;

/** Collects options from answers, which are untrusted: values must be valid settings, and labels are cleaned. */
export class OptionList {
  private readonly byKey = new Map<string, AccountOption>();
  /** The keys of the options that others may belong to, by value. */
  private readonly groups = new Map<string, string>();
  private isTruncated = false;

  constructor(private readonly fields: readonly Field[]) {}

  /** Ignores what is listed already, and a value that could not be set. Returns whether the option was added. */
  add({ label, also, ...option }: Omit<AccountOption, 'label'> & { readonly label: unknown }): boolean {
    const { setting, value } = option;
    const key = `${setting ?? ''} ${value}`;
    const isValid = ID.test(value) || (setting === 'event' && isName(value));
    if (!isValid || this.byKey.has(key) || !this.accepts({ ...also, ...(setting && { [setting]: value }) }))
      return false;
    if (this.byKey.size >= OPTIONS_MAX) {
      this.isTruncated = true;
      return false;
    }
    this.byKey.set(key, { ...option, label: cleanLabel(label) || value, ...(also && { also }) });
    if (setting !== 'event' && !this.groups.has(value)) this.groups.set(value, key);
    return true;
  }

  /** Says about an account that what belongs to it is not listed. */
  mark(account: string, change: Pick<AccountOption, 'problem' | 'unlisted'>): void {
    const key = this.groups.get(account);
    const option = key === undefined ? undefined : this.byKey.get(key);
    if (key !== undefined && option) this.byKey.set(key, { ...option, ...change });
  }

  truncate(): void {
    this.isTruncated = true;
  }

  result(): AccountOptions {
    return { options: [...this.byKey.values()], truncated: this.isTruncated };
  }

  private accepts(settings: Settings): boolean {
    return Object.entries(settings).every(([name, value]) => {
      const field = this.fields.find((one) => one.name === name);
      return name === 'event' || (field !== undefined && (value === '' || field.check?.(value) === undefined));
    });
  }
}

/** One line that can be shown beside others. It may contain HTML, which is text here. */
export function cleanLabel(text: unknown): string {
  if (typeof text !== 'string') return '';
  // A label of megabytes is cut before it is cleaned.
  const line = text
    .slice(0, 10 * LABEL_MAX)
    .replace(UNSHOWABLE, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return [...line].slice(0, LABEL_MAX).join('').trim();
}

/** An id, which platforms write as text or as a number. */
export function idAt(value: unknown, ...path: (string | number)[]): string | undefined {
  const found = at(value, ...path);
  const id = typeof found === 'number' && Number.isSafeInteger(found) ? String(found) : found;
  return typeof id === 'string' && ID.test(id) ? id : undefined;
}

/** A name that can be the value of `event.<ours>` as it is. */
function isName(value: string): boolean {
  return value !== '' && value === cleanLabel(value);
}

/** Requests page after page. `read` returns the cursor of the next one, if there is one. */
export function* pages(
  list: OptionList,
  request: (cursor: string | undefined) => PlatformRequest,
  read: (response: PlatformResponse) => string | undefined,
): Listing {
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const next = read(yield request(cursor));
    if (next === undefined || next === '' || next === cursor) return;
    cursor = next;
  }
  list.truncate();
}

/**
 * Lists what the accounts have: the one that the call is for, or else the first ones. An account that cannot be listed says so, and
 * the others are still listed.
 */
export function* eachAccount(
  list: OptionList,
  accounts: readonly string[],
  { account: chosen }: ListingCall,
  listOne: (account: string) => Listing,
): Listing {
  if (chosen !== undefined && !accounts.includes(chosen))
    throw new ListingRefused('refused', `The account ${cleanLabel(chosen)} is not among those that can be listed.`);
  let opened = 0;
  for (const account of accounts) {
    if (chosen === undefined ? opened >= ACCOUNTS_OPENED_MAX : account !== chosen) {
      list.mark(account, { unlisted: true });
      continue;
    }
    opened += 1;
    try {
      yield* listOne(account);
    } catch (error) {
      if (!(error instanceof ListingRefused) || !isOfOneAccount(error)) throw error;
      list.mark(account, { problem: error.message });
    }
  }
}

function isOfOneAccount({ kind }: ListingRefused): boolean {
  return kind === 'forbidden' || kind === 'refused';
}

/** What a platform says in its error messages. */
export interface ListingWords {
  readonly platform: string;
  /** What to do after a refused token. */
  readonly renew: string;
  /** What to do if the token may not list. */
  readonly permit: string;
}

export function refusalOf(
  kind: RefusalKind,
  { platform, renew, permit }: ListingWords,
  { status }: PlatformResponse,
  reason: string | undefined,
  advice = permit,
): ListingRefused {
  const said = redact(reason ?? '') || `HTTP ${status}`;
  switch (kind) {
    case 'unauthorized':
      return new ListingRefused(kind, `${platform} does not accept the access token (${said}). ${renew}`);
    case 'forbidden':
      return new ListingRefused(kind, `${platform} does not allow the list (${said}). ${advice}`);
    case 'throttled':
      return new ListingRefused(kind, `${platform} gets too many requests (${said}). Try again in some minutes.`);
    case 'unavailable':
      return new ListingRefused(kind, `${platform} has a temporary problem (${said}). Try again later.`);
    case 'refused':
      return new ListingRefused(kind, `${platform} did not list the account (${said}). Set the ids by hand.`);
  }
}

/** By the HTTP status alone; undefined for a 2xx. */
export function kindOfStatus({ status }: PlatformResponse): RefusalKind | undefined {
  if (status >= 200 && status < 300) return undefined;
  if (status === 401) return 'unauthorized';
  if (status === 403) return 'forbidden';
  if (status === 429) return 'throttled';
  return status === 408 || status >= 500 ? 'unavailable' : 'refused';
}
