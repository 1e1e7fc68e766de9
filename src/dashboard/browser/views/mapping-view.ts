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
