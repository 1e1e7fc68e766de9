type Rules = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** One rule per line: `topic:field=expression`. */
export function rulesText(rules: Rules): string {
  return Object.entries(rules)
    .flatMap(([topic, fields]) =>
      Object.entries(fields).map(([field, expression]) => `${topic}:${field}=${expression}`),
    )
    .join('\n');
}

/** A text: the line that is no rule. */
export function readRules(text: string): Rules | string {
  const rules: Record<string, Record<string, string>> = {};
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line === '') continue;
    const equals = line.indexOf('=');
    const colon = line.lastIndexOf(':', equals);
    if (equals < 0 || colon < 1 || colon + 1 === equals) return line;
    const topic = line.slice(0, colon);
    rules[topic] = { ...rules[topic], [line.slice(colon + 1, equals).trim()]: line.slice(equals + 1).trim() };
  }
  return rules;
}

const SAMPLES_MAX = 10;
const STORED = 'delivery:';

interface Listed {
  readonly position: string;
  readonly time: string;
  readonly topic: string;
}

/** What rules can be tried with, as values and labels of a selection: the newest deliveries, then the documented ones. */
export function sampleOptions(
  deliveries: readonly Listed[],
  fixtures: readonly string[],
): readonly (readonly [string, string])[] {
  const stored = deliveries.slice(0, SAMPLES_MAX).map(({ position, time, topic }) => {
    const at = time.slice(0, 16).replace('T', ' ');
    return [`${STORED}${position}`, `${topic}, ${at} UTC`] as const;
  });
  return [...stored, ...fixtures.map((name) => [name, `documented: ${name}`] as const)];
}

/** What the management API takes for one of them. */
export function sampleOf(value: string): { readonly delivery: string } | { readonly fixture: string } {
  return value.startsWith(STORED) ? { delivery: value.slice(STORED.length) } : { fixture: value };
}

/** The newest that its sender sent: tests are none. */
export function lastDelivery<Delivery extends { readonly outcome: string }>(
  deliveries: readonly Delivery[],
): Delivery | undefined {
  return deliveries.find(({ outcome }) => outcome !== 'trial');
}

/** What became of a test. */
export function trialText({
  outcome,
  reason,
}: {
  readonly outcome: string;
  readonly reason?: string | undefined;
}): string {
  if (outcome === 'received' || outcome === 'corrected') return 'A trial conversion was stored, and is listed below.';
  return `No trial conversion: ${[outcome, reason].filter(Boolean).join(', ')}.`;
}
