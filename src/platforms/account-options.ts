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
  readonly also?: Readonly<Record<string, string>>;
  /** The value of the option that it belongs to. */
  readonly parent?: string;
  /** The event of ours that it is meant for, if the platform says so. */
  readonly suits?: 'purchase' | 'lead' | 'signup';
  /** What belongs to it is listed only by a call with its value as `account`. */
  readonly unlisted?: true;
  /** Why what belongs to it cannot be listed, and what to do about it. */
  readonly problem?: string;
}

const OPTIONS_MAX = 2_000;

const LABEL_MAX = 120;
/** The ids of accounts and of what they have. */
export const OPTION_ID = /^\w[\w.:-]{0,63}$/;
/** Control and formatting characters (among them those that change the direction of text), unpaired surrogates, line ends. */
const UNSHOWABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu;

/** A setting of the platform. */
interface KnownField {
  readonly name: string;
  check?(value: string): string | undefined;
}

/** Collects options from answers, which are untrusted: values must be valid settings, and labels are cleaned. */
export class OptionList {
  private readonly byKey = new Map<string, AccountOption>();
  /** The keys of the options that others may belong to, by value. */
  private readonly groups = new Map<string, string>();
  private isTruncated = false;

  constructor(private readonly fields: readonly KnownField[]) {}

  /** Ignores what is listed already, and a value that could not be set. Returns whether the option was added. */
  add({ label, also, ...option }: Omit<AccountOption, 'label'> & { readonly label: unknown }): boolean {
    const { setting, value, parent } = option;
    // Several accounts may have events of the same name.
    const key = setting === 'event' ? `event ${parent} ${value}` : `${setting ?? ''} ${value}`;
    const isValid = OPTION_ID.test(value) || (setting === 'event' && isName(value));
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

  private accepts(settings: Readonly<Record<string, string>>): boolean {
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

/** A name that can be the value of `event.<ours>` as it is. */
function isName(value: string): boolean {
  return value !== '' && value === cleanLabel(value);
}
