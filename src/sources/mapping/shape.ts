const LEAVES_MAX = 400;
const DEPTH_MAX = 12;
/** A key that a sender made of data, such as an address, is no name. */
const NAME = /^[A-Za-z_$][\w$. -]{0,63}$/;

/** The form of a JSON value without what it says: names, and the kinds of values. Of a list the first element stands for all. */
export type Shape = string | readonly Shape[] | { readonly [name: string]: Shape };

export function shapeOf(value: unknown): Shape {
  let left = LEAVES_MAX;
  const visit = (each: unknown, depth: number): Shape => {
    left -= 1;
    if (each === null) return 'null';
    if (typeof each === 'string') return 'text';
    if (typeof each !== 'object') return typeof each;
    if (depth >= DEPTH_MAX || left <= 0) return '…';
    if (Array.isArray(each)) return each.length === 0 ? [] : [visit(each[0], depth + 1)];
    const shape: Record<string, Shape> = {};
    for (const [name, inner] of Object.entries(each)) {
      if (left <= 0) break;
      if (NAME.test(name)) shape[name] = visit(inner, depth + 1);
    }
    return shape;
  };
  return visit(value, 0);
}
