export interface SeededRandom {
  readonly seed: number;
  next(): number;
  integer(least: number, most: number): number;
  pick<Item>(items: readonly Item[]): Item;
}

export function seededRandom(suite: string): SeededRandom;
