/** Counts code points, which are one or two UTF-16 units each, and only where the units alone do not settle it. */
export function fitsCodePoints(text: string, maxCodePoints: number): boolean {
  return text.length <= maxCodePoints || (text.length <= 2 * maxCodePoints && [...text].length <= maxCodePoints);
}
