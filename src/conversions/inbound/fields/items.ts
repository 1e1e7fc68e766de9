import { fitsCodePoints } from '../../../kernel/code-points.js';
import type { Item } from '../../../platforms/conversion.js';
import type { BodyReading, InboundField, InboundFields, ReadResult } from '../inbound-field.js';
import { PartProblems } from './parts.js';
import { anyValue, isAbsent, NAMES, NOT_BLANK, STORABLE } from './texts.js';

export const ITEMS_MAX = 100;
const TEXT_MAX = 255;
const QUANTITY_MAX = 1_000_000;
/** As many are named in a warning. */
const PROBLEMS_MAX = 3;

const itemText = { type: ['string', 'null'], maxLength: TEXT_MAX, pattern: STORABLE };

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
          {
            type: 'string',
            minLength: 1,
            maxLength: TEXT_MAX,
            pattern: NOT_BLANK,
          },
          { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
        ],
        description: 'Id of the product, as in the catalogue that the platforms know.',
      },
      name: itemText,
      quantity: { type: ['integer', 'null'], minimum: 1, maximum: QUANTITY_MAX },
      price: { type: ['number', 'null'], minimum: 0, description: 'Price of one unit, in units of the currency.' },
      category: itemText,
    },
    propertyNames: NAMES,
    additionalProperties: anyValue(4),
  },
  example: [{ id: 'SKU-1', name: 'Running shoe', quantity: 1, price: 129.9, category: 'Shoes' }],
};

export const itemsField: InboundField = {
  name: 'items',
  schema: itemsSchema,
  read: (sent, fields, reading) => readItems(sent, fields, reading),
};

/** Writes the items with known fields only. A message names an item by its index. */
export function readItems(
  sent: unknown,
  fields: Pick<InboundFields, 'items'>,
  reading: Pick<BodyReading, 'isStrict'>,
): ReadResult {
  const list = `items must be a list of at most ${ITEMS_MAX} items`;
  if (!Array.isArray(sent) || (reading.isStrict && sent.length > ITEMS_MAX)) return list;
  const found: string[] = [];
  const items: Item[] = [];
  for (const [index, each] of sent.slice(0, ITEMS_MAX).entries()) {
    const item = readItem(each, reading, (problem) => found.push(`items[${index}]${problem}`));
    if (item) items.push(item);
    if (reading.isStrict && found.length > 0) return found[0];
  }
  if (items.length > 0) fields.items = items;
  const problems = new PartProblems(reading);
  if (sent.length > ITEMS_MAX) problems.add(list, 'the others are dropped');
  for (const problem of found.slice(0, PROBLEMS_MAX)) problems.add(problem);
  if (found.length > PROBLEMS_MAX) problems.add(`items has ${found.length - PROBLEMS_MAX} more such faults`);
  return problems.result();
}

/** Undefined if it is no item. A part that is not valid is left out. */
function readItem(
  sent: unknown,
  { isStrict }: Pick<BodyReading, 'isStrict'>,
  report: (problem: string) => void,
): Item | undefined {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) {
    report(' must be an object with an id');
    return undefined;
  }
  const { id, name, quantity, price, category } = sent as Record<string, unknown>;
  const text = Number.isSafeInteger(id) && (id as number) >= 0 ? String(id) : id;
  if (typeof text !== 'string' || text.trim() === '' || !fitsCodePoints(text, TEXT_MAX)) {
    report(`.id must be 1 to ${TEXT_MAX} characters`);
    return undefined;
  }
  const item: { -readonly [Name in keyof Item]: Item[Name] } = { id: text };
  if (!isAbsent(name)) {
    if (isText(name)) item.name = name;
    else report(`.name must be text of at most ${TEXT_MAX} characters`);
  }
  const number = (value: unknown) => (isStrict ? value : numberOf(value));
  if (!isAbsent(quantity) || (isStrict && quantity === '')) {
    const count = number(quantity);
    if (Number.isInteger(count) && (count as number) >= 1 && (count as number) <= QUANTITY_MAX)
      item.quantity = count as number;
    else report(`.quantity must be a whole number from 1 to ${QUANTITY_MAX}`);
  }
  if (!isAbsent(price) || (isStrict && price === '')) {
    const amount = number(price);
    if (typeof amount === 'number' && amount >= 0 && amount < Infinity) item.price = amount;
    else report('.price must be a non-negative number');
  }
  if (!isAbsent(category)) {
    if (isText(category)) item.category = category;
    else report(`.category must be text of at most ${TEXT_MAX} characters`);
  }
  return item;
}

/** Shops have prices as text, with a point as the decimal mark: a comma can mean thousands as well. */
function numberOf(value: unknown): unknown {
  return typeof value === 'string' && /^\s*\d{1,15}(\.\d{1,15})?\s*$/.test(value) ? Number(value) : value;
}

function isText(sent: unknown): sent is string {
  return typeof sent === 'string' && fitsCodePoints(sent, TEXT_MAX);
}
