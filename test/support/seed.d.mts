export function printSeed(name: string): number;
export function seededRandom(seed: number, stream?: number): () => number;
