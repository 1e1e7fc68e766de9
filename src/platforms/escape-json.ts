/** What JSON may have as it is, although a terminal obeys it or does not show it. */
const UNSHOWABLE = /[\x7f-\x9f\u2028\u2029\p{Cf}]/gu;

/** The same JSON with escapes in place of such characters: pasted into a shell, a DEL would remove the quote before it. */
export function escapeJson(json: string): string {
  return json.replace(UNSHOWABLE, (character) =>
    // Characters beyond U+FFFF: each half.
    character
      .split('')
      .map((half) => `\\u${half.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
