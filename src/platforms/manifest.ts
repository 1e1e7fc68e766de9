/** What is known about a platform without its code. Plain data without imports, because the dashboard contains it too. */
export interface Manifest {
  readonly name: string;
  /** Its name for people. */
  readonly label: string;
  /** What it does with conversions, in one sentence. */
  readonly about?: string;
  /** Each of them is enough for the platform to recognise a person by, unless a setting says otherwise. */
  readonly sufficient: readonly PersonIdentifier[];
  /** By the parameter of a landing page's address, in lower case. */
  readonly clickIds?: Readonly<Record<string, ClickId>>;
  /** What a sender may state in `clickIds`, as the platform writes it. */
  readonly sentClickIds?: readonly string[];
  /** Click ids of which one click has one, and the number of the identifier that is any of them. */
  readonly alternativeClicks?: { readonly number: number; readonly kinds: readonly string[] };
  /** Cookies of the platform's script on the page, which the platform is sent. */
  readonly cookies?: Readonly<Record<string, Cookie>>;
  /** It counts an event that its script on the page reports under the same event id once. */
  readonly deduplicatesPixel?: true;
}

/** What a conversion can state about its person. */
export type PersonIdentifier = 'email' | 'phone' | 'external_id' | 'click_id';

/**
 * `number` is unique among the click ids and cookies of all platforms, and is stored: in cookies of visitors, and as the place in
 * counts of identifiers. It never changes; a new identifier gets the next one.
 */
export interface ClickId {
  readonly number: number;
  /** What people call the click, if not by the platform's name. */
  readonly title?: string;
  /** How long the platform knows it. Undefined: `IDENTIFIER_TTL` applies. */
  readonly days?: number;
  /** The platform's script keeps the plain id in a cookie of the same name, with or without a leading underscore. */
  readonly cookie?: true;
}

export interface Cookie {
  readonly number: number;
  /** A value that the platform accepts. Undefined: the cookie alone identifies no person. */
  readonly sample?: string;
  /** `tag/browser/platform-cookies.ts` takes a part of the value. */
  readonly part?: true;
}
