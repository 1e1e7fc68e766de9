/**
 * SHA-256 digests (hex, lower case) of personal data, one for each normalised form that a platform requires. They are
 * computed as soon as the request is parsed, so that the raw values can be discarded there.
 *
 * `subject`, `phone`, `firstName` and `lastName` are the plain forms. Another form is stored only where it differs from
 * the plain one, and is null where the plain one must not replace it: read it with `digestOf()`.
 */
export interface PersonalHashes {
  /**
   * Email, trimmed, lower case: the key of the data subject. Meta, TikTok, LinkedIn, Pinterest, Snapchat, X, Segment. Absent if the
   * person is known by something else.
   */
  subject?: string;
  /** Like `subject`, but at gmail.com and googlemail.com without dots and `+suffix`. Google. */
  emailGoogle?: string | null;
  /** At every domain without the dots and the `+alias` of the local part, and without a trailing dot. Microsoft, Reddit. */
  emailBare?: string | null;

  /** E.164 with `+`, or as the sender hashed it. Google, TikTok, Microsoft, Reddit, X. */
  phone?: string;
  /** The digits of E.164. Meta, Pinterest, Snapchat. Present whenever `phone` is. */
  phoneDigits?: string;

  /** Trimmed, lower case. Google, Pinterest. */
  firstName?: string;
  /** Without whitespace and ASCII punctuation. Meta. */
  firstNameBare?: string;
  /** Without whitespace. TikTok. */
  firstNameJoined?: string;
  /** Without ASCII punctuation. Snapchat. */
  firstNameUnpunctuated?: string;

  lastName?: string;
  lastNameBare?: string;
  lastNameJoined?: string;
  lastNameUnpunctuated?: string;

  /**
   * Of an address, only where the sender hashed it: platforms normalise a plain one each in its own way. Absent where the plain
   * part is known.
   */
  city?: string;
  region?: string;
  postalCode?: string;
  country?: string;
}

const PLAIN_FORM = {
  emailGoogle: 'subject',
  emailBare: 'subject',
  firstNameBare: 'firstName',
  firstNameJoined: 'firstName',
  firstNameUnpunctuated: 'firstName',
  lastNameBare: 'lastName',
  lastNameJoined: 'lastName',
  lastNameUnpunctuated: 'lastName',
} as const satisfies Partial<Record<keyof PersonalHashes, keyof PersonalHashes>>;

/** The digest of one normalised form: the plain one where both are equal; undefined where there is nothing to send. */
export function digestOf(hashes: PersonalHashes, form: keyof PersonalHashes): string | undefined {
  const stored = hashes[form];
  if (stored !== undefined) return stored ?? undefined;
  const plain = PLAIN_FORM[form as keyof typeof PLAIN_FORM];
  return plain === undefined ? undefined : hashes[plain];
}

/** A list of one digest, for platforms that accept several; undefined where there is none. */
export function listOf(digest: string | undefined): [string] | undefined {
  return digest ? [digest] : undefined;
}
