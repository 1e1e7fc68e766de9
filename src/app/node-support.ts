/** When support of a major version of Node ended. */
const OUT_OF_SUPPORT: Readonly<Record<string, string>> = {
  20: 'April 2026',
  21: 'June 2024',
  23: 'June 2025',
  25: 'June 2026',
};

/** A line for a terminal; empty if the version was supported when this list was written. */
export function unsupportedNodeText(version: string): string {
  const major = version.split('.', 1)[0] as string;
  const since = OUT_OF_SUPPORT[major];
  return since === undefined
    ? ''
    : `Node ${major} has been out of support since ${since}. Install Node 24, which is also faster: nvm install 24 (or https://nodejs.org/en/download)\n`;
}
