import type { Conversion, Item } from './conversion.js';

/** An item without a quantity is one unit. */
export function quantityOf({ quantity = 1 }: Item): number {
  return quantity;
}

export function unitsIn(items: readonly Item[]): number {
  return items.reduce((units, item) => units + quantityOf(item), 0);
}

/** Whether there is an amount, which has a meaning only with its currency. */
export function hasAmount({ value, items }: Conversion): boolean {
  return value !== undefined || (items?.some(({ price }) => price !== undefined) ?? false);
}

/** The fields for items that Meta, Pinterest and Snapchat have in common; they differ in what `content` contains. */
export function contentFields({ items }: Conversion, content: (item: Item) => object): Record<string, unknown> {
  if (!items?.length) return {};
  return {
    content_ids: items.map(({ id }) => id),
    contents: items.map((item) => content(item)),
    num_items: unitsIn(items),
  };
}
