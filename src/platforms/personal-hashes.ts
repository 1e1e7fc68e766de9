/**
 * SHA-256 digests (hex, lower case) of what a sender said about a person, in every spelling that some platform wants.
 * They are made as soon as the request is read, so that the raw values can be dropped there.
 *
 * `subject`, `phone`, `firstName` and `lastName` are the plain spellings. Another spelling is stored only where it
 * differs from the plain one, and is null where the plain one must not stand in for it: read it with `spelling()`.
 */
export interface PersonalHashes {
  /** Email, trimmed, lower case: the subject's key. Meta, TikTok, LinkedIn, Pinterest, Snapchat, X, Segment. */
  subject: string;
  /** As `subject`; at gmail.com and googlemail.com without dots and `+suffix`. Google. */
  emailGoogle?: string | null;
  /** Without the dots and the `+alias` of the local part at any domain, and without a final dot. Microsoft, Reddit. */
  emailBare?: string | null;

  /** E.164 with `+`. Google, TikTok, Microsoft, Reddit, X. */
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
}

const PLAIN_SPELLING = {
  emailGoogle: 'subject',
  emailBare: 'subject',
  firstNameBare: 'firstName',
  firstNameJoined: 'firstName',
  firstNameUnpunctuated: 'firstName',
  lastNameBare: 'lastName',
  lastNameJoined: 'lastName',
  lastNameUnpunctuated: 'lastName',
} as const satisfies Partial<Record<keyof PersonalHashes, keyof PersonalHashes>>;

/** The digest in one spelling: the plain one where this one is the same; undefined where there is nothing to send. */
export function spelling(hashes: PersonalHashes, name: keyof PersonalHashes): string | undefined {
  const stored = hashes[name];
  if (stored !== undefined) return stored ?? undefined;
  const plain = PLAIN_SPELLING[name as keyof typeof PLAIN_SPELLING];
  return plain === undefined ? undefined : hashes[plain];
}

/** For platforms that take several digests of a kind: the one there is, undefined where there is none. */
export function listOf(digest: string | undefined): [string] | undefined {
  return digest ? [digest] : undefined;
}
