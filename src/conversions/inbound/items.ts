import { fitsCodePoints } from '../../kernel/code-points.js';
import type { Item } from '../../platforms/conversion.js';

export const ITEMS_MAX = 100;
const TEXT_MAX = 255;
const QUANTITY_MAX = 1_000_000;

export const itemsSchema = {
  type: 'array',
  maxItems: ITEMS_MAX,
  description: 'Lines of the order. Unknown fields of an item are ignored, and null is the same as absent.',
  items: {
    type: 'object',
    required: ['id'],
    properties: {
      id: {
        anyOf: [
          { type: 'string', minLength: 1, maxLength: TEXT_MAX },
          { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
        ],
        description: 'Id of the product, as in the catalogue that the platforms know.',
      },
      name: { type: ['string', 'null'], maxLength: TEXT_MAX },
      quantity: { type: ['integer', 'null'], minimum: 1, maximum: QUANTITY_MAX },
      price: { type: ['number', 'null'], minimum: 0, description: 'Price of one unit, in units of the currency.' },
      category: { type: ['string', 'null'], maxLength: TEXT_MAX },
    },
  },
  example: [{ id: 'SKU-1', name: 'Running shoe', quantity: 1, price: 129.9, category: 'Shoes' }],
};

/** The items with known fields only, or the error message, which names an item by its index. */
export function readItems(sent: unknown): readonly Item[] | string {
  if (!Array.isArray(sent) || sent.length > ITEMS_MAX) return `items must be a list of at most ${ITEMS_MAX} items`;
  const items: Item[] = [];
  for (const [index, each] of sent.entries()) {
    const item = readItem(each);
    if (typeof item === 'string') return `items[${index}]${item}`;
    items.push(item);
  }
  return items;
}

function readItem(sent: unknown): Item | string {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) return ' must be an object with an id';
  const { id, name, quantity, price, category } = sent as Record<string, unknown>;
  const text = Number.isSafeInteger(id) && (id as number) >= 0 ? String(id) : id;
  if (typeof text !== 'string' || text.trim() === '' || !fitsCodePoints(text, TEXT_MAX))
    return `.id must be 1 to ${TEXT_MAX} characters`;
  const item: { -readonly [Name in keyof Item]: Item[Name] } = { id: text };
  if (!isAbsent(name)) {
    if (!isText(name)) return `.name must be text of at most ${TEXT_MAX} characters`;
    item.name = name;
  }
  if (quantity !== undefined && quantity !== null) {
    if (!Number.isInteger(quantity) || (quantity as number) < 1 || (quantity as number) > QUANTITY_MAX)
      return `.quantity must be a whole number from 1 to ${QUANTITY_MAX}`;
    item.quantity = quantity as number;
  }
  if (price !== undefined && price !== null) {
    if (typeof price !== 'number' || !(price >= 0 && price < Infinity)) return '.price must be a non-negative number';
    item.price = price;
  }
  if (!isAbsent(category)) {
    if (!isText(category)) return `.category must be text of at most ${TEXT_MAX} characters`;
    item.category = category;
  }
  return item;
}

function isAbsent(sent: unknown): sent is undefined | null | '' {
  return sent === undefined || sent === null || sent === '';
}

function isText(sent: unknown): sent is string {
  return typeof sent === 'string' && fitsCodePoints(sent, TEXT_MAX);
}
