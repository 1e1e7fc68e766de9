import { segment } from './segment/index.js';
import { shopify } from './shopify/index.js';
import type { Source } from './source.js';
import { stripe } from './stripe/index.js';
import { woocommerce } from './woocommerce/index.js';

/** The only list of sources. */
export const SOURCES: readonly Source[] = [shopify, stripe, woocommerce, segment];

export const SOURCE_NAMES: readonly string[] = SOURCES.map(({ name }) => name);

export function findSource(name: string): Source | undefined {
  return SOURCES.find((source) => source.name === name);
}
