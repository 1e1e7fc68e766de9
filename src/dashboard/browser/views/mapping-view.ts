import type { Schemas } from '../api.js';
import { connectionTitle, type Tone } from '../format.js';

/** One line of a mapping: of an event to the platform's name or id, or of a field of the platform to a value. */
export interface MappingRow {
  readonly kind: 'event' | 'field';
  /** Our event, or the platform's field. */
  readonly name: string;
  /** The platform's event, or our value. */
  readonly value: string;
}

type Settings = Readonly<Record<string, string | true>>;

/** The lines that are among the settings of a connection: `event.<ours>` and `field.<theirs>`. */
export function mappingRows(settings: Settings): MappingRow[] {
  return Object.entries(settings).flatMap(([setting, value]): MappingRow[] => {
    const [, kind, name] = /^(event|field)\.(.+)$/.exec(setting) ?? [];
    if (name === undefined || value === true) return [];
    return [{ kind: kind as MappingRow['kind'], name, value }];
  });
}

/** The settings to send so that a connection has these lines: changed and new ones, and an empty text for removed ones. */
export function mappingChanges(settings: Settings, rows: readonly MappingRow[]): Record<string, string> {
  const wanted = new Map(
    rows
      .filter(({ name, value }) => name.trim() !== '' && value.trim() !== '')
      .map(({ kind, name, value }) => [`${kind}.${name.trim()}`, value.trim()]),
  );
  const changes: Record<string, string> = {};
  for (const { kind, name } of mappingRows(settings)) {
    const setting = `${kind}.${name}`;
    if (!wanted.has(setting)) changes[setting] = '';
  }
  for (const [setting, value] of wanted) if (settings[setting] !== value) changes[setting] = value;
  return changes;
}

/** Whether lines differ from what is stored. Undefined: nothing was edited. */
export function isEdited(settings: Settings, rows: readonly MappingRow[] | undefined): boolean {
  return rows !== undefined && Object.keys(mappingChanges(settings, rows)).length > 0;
}

type ReceivedEvent = Schemas['ReceivedEvents']['items'][number];

/** A received event, and where it goes. */
export interface EventRow extends Pick<ReceivedEvent, 'event' | 'conversions' | 'lastSeen'> {
  readonly sentTo: number;
  /** The connections that get nothing of it, with why. */
  readonly notSent: readonly { readonly connection: string; readonly words: string; readonly tone: Tone }[];
  /** What the button beside it maps it to at the chosen connection; an empty text is to be typed. Undefined: nothing to map. */
  readonly mapTo?: { readonly label: string; readonly value: string };
}

/** `rows`: the lines of the chosen connection as they are edited. */
export function eventRows(
  items: readonly ReceivedEvent[],
  chosen: string,
  rows: readonly MappingRow[],
): readonly EventRow[] {
  return items.map(({ event, conversions, lastSeen, connections }) => {
    const route = connections.find(({ platform }) => platform === chosen);
    const isEdited = rows.some(({ kind, name }) => kind === 'event' && name === event);
    const mapTo = route && !isEdited ? mapToOf(route) : undefined;
    return {
      ...{ event, conversions, lastSeen },
      sentTo: connections.filter(({ state }) => state === 'sent').length,
      notSent: connections.flatMap(({ platform, state }) =>
        state === 'sent'
          ? []
          : [{ connection: platform, words: `${connectionTitle(platform)}: ${WORDS[state]}`, tone: TONES[state] }],
      ),
      ...(mapTo && { mapTo }),
    };
  });
}

type NotSent = Exclude<ReceivedEvent['connections'][number]['state'], 'sent'>;
const WORDS: Readonly<Record<NotSent, string>> = { not_mapped: 'not mapped', not_selected: 'not selected' };
const TONES: Readonly<Record<NotSent, Tone>> = { not_mapped: 'warn', not_selected: 'plain' };

function mapToOf({ state, suggestion }: ReceivedEvent['connections'][number]): EventRow['mapTo'] {
  if (suggestion) return { label: `Map as ${suggestion.event}`, value: suggestion.value };
  return state === 'not_mapped' ? { label: 'Map', value: '' } : undefined;
}
