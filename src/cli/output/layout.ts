import type { Writable } from 'node:stream';
import { styleText } from 'node:util';

/** A stream that may be a terminal. */
export type Terminal = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** How text is laid out: on a terminal with colours and within its width, elsewhere as it is. */
export interface Layout {
  readonly hasColours: boolean;
  /** Undefined: any length. */
  readonly width?: number | undefined;
}

export const PLAIN: Layout = { hasColours: false };

export type Colour = 'bold' | 'dim' | 'green' | 'yellow' | 'red';

export function layoutOf(stream: Terminal, env: NodeJS.ProcessEnv): Layout {
  return { hasColours: hasColours(stream, env), width: (stream.isTTY && stream.columns) || undefined };
}

/** Only on a terminal, because scripts read the output. NO_COLOR: no-color.org. */
function hasColours({ isTTY = false }: Terminal, { NO_COLOR, TERM }: NodeJS.ProcessEnv): boolean {
  return isTTY && TERM !== 'dumb' && (NO_COLOR === undefined || NO_COLOR === '');
}

export function paint({ hasColours }: Layout, colour: Colour, text: string): string {
  return hasColours ? styleText(colour, text, { validateStream: false }) : text;
}

/** Width of the mark and the gap after it. */
export const MARK_WIDTH = 6;

/** The first word of a line that states the result of a check. */
export function checkMark(layout: Layout, ok: boolean, isWarning = false): string {
  if (isWarning) return paint(layout, 'yellow', 'warn');
  return ok ? paint(layout, 'green', 'ok  ') : paint(layout, 'red', 'FAIL');
}
