export const PERMITTED: readonly string[];
export function productionDependencies(lock: object): { name: string; version: string; licence: string }[];
export function licencesDocument(lock: object): string;
