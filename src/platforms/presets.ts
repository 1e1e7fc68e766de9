import type { Conversion } from './conversion.js';
import type { Field, Settings } from './platform.js';

/** By the key of `custom`, the field of the platform that has the same meaning. */
export type Presets = Readonly<Record<string, string>>;

/** Not by default: what a sender states for one platform must not reach another one unasked. */
export function presetsField(keys: readonly string[]): Field {
  return {
    name: 'presets',
    help: `Keys of custom that fill the platform's own field of that meaning, separated by commas: ${keys.join(', ')}.`,
    check: (value) =>
      chosen(value).every((key) => keys.includes(key))
        ? undefined
        : `must be of ${keys.join(', ')}, separated by commas`,
  };
}

/** By the settings: they belong to one connection, and every conversion asks for them. */
const expanded = new WeakMap<Settings, Settings>();

/** The settings with `field.<theirs>=custom.<key>` for the chosen presets, unless the field is set. */
export function withPresets(settings: Settings, presets: Presets): Settings {
  if (settings['presets'] === undefined) return settings;
  const known = expanded.get(settings);
  if (known) return known;
  const fields = chosen(settings['presets']).flatMap((key): [string, string][] =>
    presets[key] === undefined ? [] : [[`field.${presets[key]}`, `custom.${key}`]],
  );
  const found: Settings = { ...Object.fromEntries(fields), ...settings };
  expanded.set(settings, found);
  return found;
}

/** What the sender states under a key of `custom`, if the connection has chosen its preset. */
export function presetValue({ custom = {} }: Conversion, { presets = '' }: Settings, key: string): string | undefined {
  return chosen(presets).includes(key) && Object.hasOwn(custom, key) ? String(custom[key]) : undefined;
}

function chosen(presets: string): string[] {
  return presets.split(',').map((key) => key.trim());
}
