import type { ConversionPersonal } from '../events/conversion.events.js';
import { statedKeys } from '../events/person-keys.js';

export const OPT_OUTS = Symbol('opt-outs');

/** Which of these people of a site have opted out, or count as if they had, as of now. Rejects if that cannot be read. */
export type FindOptOuts = (site: string, subjects: readonly string[]) => Promise<ReadonlySet<string>>;

/** How old the decision on a conversion may be when it is sent: first attempts rarely wait longer, and need no lookup. */
const CURRENT_MS = 1_000;

/** The subjects of the person whose conversion is sent, and when the conversion was decided on the person's consent, by the monotonic clock. */
export interface DecidedConsent {
  readonly subject: string;
  /** Of a site that identifies people by more than an email: what the sender stated. */
  readonly stated?: ConversionPersonal | undefined;
  readonly atMs: number;
}

/** The people whose consent has to be looked up before the conversions are sent. */
export function outdatedConsents(
  deliveries: readonly { readonly consent?: DecidedConsent | undefined }[],
  nowMs: number,
): ReadonlySet<string> {
  // Shared: nearly all requests need no lookup.
  let subjects = NONE;
  for (const { consent } of deliveries)
    if (consent && nowMs - consent.atMs > CURRENT_MS) {
      if (subjects === NONE) subjects = new Set();
      for (const subject of subjectsOf(consent)) subjects.add(subject);
    }
  return subjects;
}

const NONE = new Set<string>();

/** An opt-out under any of them counts. */
export function subjectsOf({ subject, stated }: DecidedConsent): readonly string[] {
  return stated ? [subject, ...statedKeys(stated)] : [subject];
}
