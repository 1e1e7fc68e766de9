import { definitionsWith, type Setting } from './settings.js';

const INTRODUCTION = `# Settings

<!-- Generated from src/kernel/settings/settings.ts by "npm run docs:settings". Change the definitions there. -->

Settings are environment variables, read once at start. The service and the command line use the same ones. A value
that does not parse prevents the start, and the error names the variable; an empty value counts as not set.

Durations are written as a whole number and a unit: \`500ms\`, \`2s\`, \`15m\`, \`24h\`, \`30d\`. Lists are separated by commas.

| name | default | format | meaning |
|---|---|---|---|
`;

/** The text of `docs/settings.md`. */
export function settingsDocument(signIns: readonly string[]): string {
  return `${INTRODUCTION}${definitionsWith(signIns).map(row).join('\n')}\n`;
}

function row({ name, default: value, format, description }: Setting): string {
  return `| \`${name}\` | ${value ? `\`${value}\`` : ''} | ${format.text} | ${description} |`;
}
