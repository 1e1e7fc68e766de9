/** Counts code points only if the number of UTF-16 units (one or two per code point) does not decide. */
export function fitsCodePoints(text: string, maxCodePoints: number): boolean {
  return text.length <= maxCodePoints || (text.length <= 2 * maxCodePoints && [...text].length <= maxCodePoints);
}
