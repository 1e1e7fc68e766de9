export const VALUES: Readonly<Record<string, object>>;
export function chartDigest(): string;
export function renderedFile(name: string): string;
