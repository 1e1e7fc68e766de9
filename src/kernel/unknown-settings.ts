import { editDistance } from './nearest.js';
import { DEFINITIONS } from './settings.js';

/** Shorter names resemble too many variables of other programs: HOST and HOSTNAME, CELL and SHELL. */
const NAME_LENGTH_MIN = 8;
/** One mistake for this many characters. */
const CHARACTERS_PER_MISTAKE = 5;

const NAMES = Object.values(DEFINITIONS).map(({ name }): string => name);

export interface UnknownSetting {
  readonly name: string;
  readonly meant: string;
}

/** Variables that are no settings but resemble one: probably misspelt, and without effect. */
export function findUnknownSettings(environment: NodeJS.ProcessEnv): UnknownSetting[] {
  return Object.keys(environment)
    .filter((name) => !NAMES.includes(name))
    .flatMap((name) => {
      const meant = resembledSetting(name.toUpperCase().replaceAll('-', '_'));
      return meant === undefined ? [] : [{ name, meant }];
    });
}

export function describeUnknownSetting({ name, meant }: UnknownSetting): string {
  return `${name} is not a setting and has no effect. Did you mean ${meant}?`;
}

function resembledSetting(name: string): string | undefined {
  if (name.length < NAME_LENGTH_MIN - 1) return undefined;
  const candidates = NAMES.filter((known) => known.length >= NAME_LENGTH_MIN).map((known) => ({
    known,
    distance: known.startsWith(name) || name.startsWith(`${known}_`) ? 0 : editDistance(name, known),
    most: Math.floor(known.length / CHARACTERS_PER_MISTAKE),
  }));
  const [closest] = candidates
    .filter(({ distance, most }) => distance <= most)
    .sort((one, other) => one.distance - other.distance);
  return closest?.known;
}
