/**
 * The rules of one topic, by field of a conversion (`docs/sources.md`): where its value comes from. Parts of a field have its name before a
 * dot (`clickIds.gclid`), those of the items `items[].`; `items[]` names the list. Besides them `when`, a condition, and `correction`,
 * which is `'true'` where the topic corrects a conversion.
 */
export type TopicMapping = Readonly<Record<string, string>>;

/** By topic. */
export type Mapping = Readonly<Record<string, TopicMapping>>;

export const WHEN = 'when';
export const CORRECTION = 'correction';
export const ITEMS = 'items[]';

/** A mapping with the changes of a site. An empty expression removes a rule. */
export function changedMapping(mapping: Mapping, changes: Mapping): Mapping {
  const changed: Record<string, TopicMapping> = Object.assign(Object.create(null), mapping);
  for (const [topic, rules] of Object.entries(changes)) {
    const merged = Object.entries({ ...changed[topic], ...rules }).filter(([, expression]) => expression !== '');
    if (merged.length > 0) changed[topic] = Object.fromEntries(merged);
    else delete changed[topic];
  }
  return changed;
}
