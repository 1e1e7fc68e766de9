export function missingPackages(): string[];
