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
