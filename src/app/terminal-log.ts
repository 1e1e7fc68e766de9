import { isContainerTerminal } from './main-terminal.js';

const WORDS: Readonly<Record<number, string>> = { 40: 'Warning: ', 50: 'Error: ', 60: 'Error: ' };

/** Where the log is written: undefined for JSON on standard error. On a terminal it is read by a person. */
export function logDestination(): { write(line: string): void } | undefined {
  if (!process.stderr.isTTY || isContainerTerminal()) return undefined;
  return { write: (line) => void process.stderr.write(readableLine(line)) };
}

/** `10:15:30  Warning: The webhook fails (site: shop.example, attempt: 3)`, of a line of JSON. */
export function readableLine(line: string): string {
  const { level, time, pid: _, hostname: __, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const { stack, ...others } = fields;
  const details = Object.entries(others).map(([name, value]) => `${shown(name)}: ${shown(value)}`);
  const text = `${WORDS[Number(level)] ?? ''}${shown(msg)}${details.length === 0 ? '' : ` (${details.join(', ')})`}`;
  const lines = typeof stack === 'string' ? stack.split('\n').slice(1).map(shown) : [];
  return `${[`${new Date(Number(time)).toTimeString().slice(0, 8)}  ${text}`, ...lines].join('\n')}\n`;
}

/** Without characters that a terminal would interpret. */
function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.replace(/\p{C}/gu, '?');
}
