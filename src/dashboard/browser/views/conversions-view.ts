import { OUTCOME_WORDS, type Outcome, outcomeOf, outcomeWord } from '../../../kernel/outcome-words.js';
import type { Schemas } from '../api.js';
import { connectionTitle, formatNumber, statusTone, type Tone } from '../format.js';
import { readTimes, type TimeFilter } from '../time-filter.js';

export type Conversion = Schemas['Conversion'];
type DeliveryState = Conversion['deliveries'][number];

/** The words for outcomes with the values of the API. */
export const OUTCOME_CHOICES = OUTCOME_WORDS.map(([word]) => [outcomeOf(word), word] as const);

/** The filters of the list of conversions, as they are kept in the address. */
export interface ConversionFilters extends TimeFilter {
  readonly order?: string;
  readonly connection?: string;
  readonly outcome?: Outcome;
  readonly event?: string;
  readonly source?: string;
}

/** An address may contain anything: what is no filter is left out. */
export function readConversionFilters(query: Readonly<Record<string, string>>): ConversionFilters {
  const { order, connection, event, source } = query;
  const outcome = OUTCOME_CHOICES.find(([known]) => known === query['outcome'])?.[0];
  return {
    ...(order && { order }),
    ...(connection && { connection }),
    ...(outcome && { outcome }),
    ...(event && { event }),
    ...(source && { source }),
    ...readTimes(query),
  };
}

/** What an event that opens a conversion, or a conversion of the list, is compared by. */
interface Opening {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Whether a conversion that arrives may match. What becomes of its deliveries is known later; so is its order, if it is stored as a digest. */
export function mayMatch(
  { type, data }: Opening,
  { event, source, outcome, connection, to }: ConversionFilters,
): boolean {
  const isReceived = type === 'conversion.received.v1';
  if (to !== undefined) return false;
  if (event !== undefined && data['event'] !== event) return false;
  if (source !== undefined && sourceOf(data) !== source && data['source'] !== source) return false;
  if (outcome === 'filtered') return type === 'conversion.filtered.v1';
  if (outcome === 'duplicate') return type === 'conversion.deduplicated.v1';
  if (outcome !== undefined && !isReceived) return false;
  const platforms = data['platforms'];
  return connection === undefined || (isReceived && Array.isArray(platforms) && platforms.includes(connection));
}

/** The source whose webhook it was made of, or where it happened. */
export function sourceOf(data: { readonly source?: unknown; readonly delivery?: unknown }): string | undefined {
  const { delivery, source } = data;
  const own = typeof delivery === 'object' && delivery !== null && 'source' in delivery ? delivery.source : source;
  return typeof own === 'string' ? own : undefined;
}

/** A delivery in a few letters, for a list with a dozen of them in each row. */
export interface Mark {
  readonly connection: string;
  readonly letters: string;
  readonly sign: string;
  readonly tone: Tone;
  /** In words. */
  readonly text: string;
}

const SIGNS: Readonly<Record<string, string>> = {
  delivered: '✓',
  confirmed: '✓',
  checked: '✓',
  accepted: '→',
  refused: '✕',
  waiting: '…',
  'not sent': '–',
};

export function markOf({ platform, status, reason }: DeliveryState): Mark {
  const title = connectionTitle(platform);
  const word = outcomeWord(status, reason);
  return {
    connection: platform,
    letters: lettersOf(title),
    sign: SIGNS[word] ?? '',
    tone: word === 'not sent' ? 'plain' : statusTone(status),
    text: `${title}: ${word}${reason === undefined ? '' : ` (${reason})`}`,
  };
}

/** "GA" of Google Ads, "G4" of GA4, "Me" of Meta, and "Me·s" of a second connection named "second". */
export function lettersOf(title: string): string {
  const [platform = '', name] = title.split(' · ');
  const [first = '', second] = platform.split(' ');
  const digit = /\d/.exec(first)?.[0];
  const letters = `${first[0] ?? ''}${second?.[0] ?? digit ?? first[1] ?? ''}`;
  return name === undefined ? letters : `${letters}·${name[0]}`;
}

/** "7 of 8 delivered, 1 refused". Confirmed is delivered as well. */
export function deliveredText(deliveries: readonly DeliveryState[]): string {
  if (deliveries.length === 0) return 'delivered nowhere';
  const words = deliveries.map(({ status, reason }) => outcomeWord(status, reason));
  const count = (...of: string[]) => words.filter((word) => of.includes(word)).length;
  const of = (number: number, word: string) => (number === 0 ? [] : [`${formatNumber(number)} ${word}`]);
  const checked = count('checked');
  const first =
    checked > 0
      ? `${formatNumber(checked)} of ${formatNumber(words.length)} checked`
      : `${formatNumber(count('delivered', 'confirmed'))} of ${formatNumber(words.length)} delivered`;
  return [first, ...['accepted', 'refused', 'waiting', 'not sent'].flatMap((word) => of(count(word), word))].join(', ');
}
