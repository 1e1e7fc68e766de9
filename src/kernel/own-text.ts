const SLACK = 256;

/**
 * A part of a text that is kept longer than the whole. V8 lets a part refer to the whole, which then stays in memory: a caller
 * could make a short field hold a long one.
 */
export function ownText(part: string, whole: string): string {
  return whole.length - part.length <= SLACK ? part : (JSON.parse(JSON.stringify(part)) as string);
}

/** Without white space at both ends. */
export function ownTrimmed(text: string): string {
  return ownText(text.trim(), text);
}
