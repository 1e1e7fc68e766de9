export function buildSite(root: string, out: string): { pages: number; problems: string[] };
