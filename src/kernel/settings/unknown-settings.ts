import { editDistance } from '../nearest.js';
import { definitionsWith } from './settings.js';

/** Shorter names resemble too many variables of other programs: HOST and HOSTNAME, CELL and SHELL. */
const NAME_LENGTH_MIN = 8;
/** One mistake for this many characters. */
const CHARACTERS_PER_MISTAKE = 5;

interface UnknownSetting {
  readonly name: string;
  readonly meant: string;
}

/** Variables that are no settings but resemble one: probably misspelt, and without effect. */
export function findUnknownSettings(environment: NodeJS.ProcessEnv, signIns: readonly string[] = []): UnknownSetting[] {
  const known = definitionsWith(signIns).map(({ name }) => name);
  return Object.keys(environment)
    .filter((name) => !known.includes(name))
    .flatMap((name) => {
      const meant = resembledSetting(name.toUpperCase().replaceAll('-', '_'), known);
      return meant === undefined ? [] : [{ name, meant }];
    });
}

export function describeUnknownSetting({ name, meant }: UnknownSetting): string {
  return `${name} is not a setting and has no effect. Did you mean ${meant}?`;
}

function resembledSetting(name: string, settings: readonly string[]): string | undefined {
  if (name.length < NAME_LENGTH_MIN - 1) return undefined;
  const candidates = settings
    .filter((known) => known.length >= NAME_LENGTH_MIN)
    .map((known) => ({
      known,
      distance: known.startsWith(name) || name.startsWith(`${known}_`) ? 0 : editDistance(name, known),
      most: Math.floor(known.length / CHARACTERS_PER_MISTAKE),
    }));
  const [closest] = candidates
    .filter(({ distance, most }) => distance <= most)
    .sort((one, other) => one.distance - other.distance);
  return closest?.known;
}
