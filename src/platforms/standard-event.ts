/** The events that platforms know. All others need a mapping, or are custom events there. */
export const STANDARD_EVENTS = ['purchase', 'lead', 'signup'] as const;
export type StandardEvent = (typeof STANDARD_EVENTS)[number];

/** Words in the names of events that mean the same. The first that occurs decides. */
const WORDS: readonly (readonly [StandardEvent, RegExp])[] = [
  ['signup', /sign ?ups?|signed up|regist(?:er|ered|ration)|account created|create account|subscri(?:be|bed|ption)/],
  ['lead', /leads?|contact|enquiry|inquiry|quote|demo|appointment|callback|form/],
  ['purchase', /purchased?|orders?|sale|sold|checkout|paid|payment|bought|buy|transaction/],
];

/** The standard event that an event probably is, by the words of its name: `Order Completed`, `order_completed`, `orderCompleted`. */
export function standardEventOf(event: string): StandardEvent | undefined {
  const words = event
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/[\W_]+/g, ' ')
    .toLowerCase()
    .trim();
  return WORDS.find(([, pattern]) => new RegExp(`(?:^| )(?:${pattern.source})(?: |$)`).test(words))?.[0];
}
