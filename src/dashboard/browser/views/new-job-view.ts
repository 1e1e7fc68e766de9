import type { Schemas } from '../api.js';
import { fromLocal } from '../local-time.js';
import { kindOf, typesOf } from '../stream/live-events.js';

/** What the form of a new job has. Texts are as they were typed. */
export interface JobForm {
  readonly kind: 'export' | 'replay' | 'shadow';
  readonly format: 'ndjson' | 'csv' | 'parquet';
  /** The kind of events to export. Empty: all. */
  readonly events: string;
  /** The connection whose deliveries are sent again, or whose settings are tried. */
  readonly connection: string;
  /** Local times, or empty. */
  readonly from: string;
  readonly to: string;
  /** Setting of a shadow replay, in place of what applied then. Empty: as it was. */
  readonly botThreshold: string;
  readonly dedupWindow: string;
  /** Lines such as `event.purchase = Purchase`. */
  readonly settings: string;
}

/** The request for a job. Throws with what is wrong in the form. */
export function jobRequest(form: JobForm, nowMs: number): Schemas['NewJob'] {
  const { kind, format, connection, botThreshold, dedupWindow } = form;
  const [from, to] = [fromLocal(form.from), fromLocal(form.to)];
  const range = { ...(from && { from }), ...(to && { to }) };
  const types = typesOf(kindOf(form.events));
  if (kind === 'export') return { kind, format, ...(types && { types }), ...range };
  if (kind === 'replay') return { kind, platform: connection, force: false, ...range };
  const settings = readSettings(form.settings);
  const isOfConnection = Object.keys(settings).length > 0;
  return {
    kind,
    from: from ?? '',
    to: to ?? new Date(nowMs).toISOString(),
    ...(botThreshold.trim() !== '' && { botThreshold: Number(botThreshold) }),
    ...(dedupWindow.trim() !== '' && { dedupWindow: dedupWindow.trim() }),
    ...(isOfConnection && { settings: { [connection]: settings } }),
  };
}

/** Settings as a line each: a name, `=` and a value, which may be empty. */
export function readSettings(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] = /^\s*([^=\s]+)\s*=(.*)$/.exec(line) ?? [];
      if (name === undefined || value === undefined)
        throw new Error(`“${line.trim()}” is no setting. Write its name, = and its value.`);
      return [name, value.trim()];
    }),
  );
}
