import type { Schemas } from './api.js';

export type AccountOption = Schemas['AccountOption'];
/** What was chosen or typed so far, by setting. */
export type Chosen = Readonly<Record<string, string>>;

type StandardEvent = NonNullable<AccountOption['suits']>;

/** Complete: the compiler names an event of the API that is missing here. */
const STANDARD_EVENTS: Readonly<Record<StandardEvent, true>> = { purchase: true, lead: true, signup: true };

/**
 * Events of ours that an option of the setting `event` can be chosen for: those that platforms know, those that the connection
 * maps, and those of conversions that were received.
 */
export function pickedEvents(settings: Readonly<Record<string, unknown>>, received: readonly string[]): string[] {
  const mapped = Object.keys(settings).flatMap((name) => /^event\.(.+)$/.exec(name)?.[1] ?? []);
  return [...new Set([...Object.keys(STANDARD_EVENTS), ...mapped, ...received])];
}

/** The options of a setting that belong to the accounts chosen so far. */
export function optionsOf(options: readonly AccountOption[], setting: string, chosen: Chosen): AccountOption[] {
  return options.filter((option) => option.setting === setting && belongs(options, option, chosen));
}

/** Whether no other option was chosen in place of one that it belongs to. */
function belongs(options: readonly AccountOption[], { parent }: AccountOption, chosen: Chosen): boolean {
  if (parent === undefined) return true;
  const owner = options.find(({ value, setting }) => value === parent && setting !== 'event');
  if (owner?.setting === undefined) return true;
  const wanted = chosen[owner.setting];
  return wanted === undefined || wanted === '' || wanted === parent;
}

/** The settings after an option was chosen: its value, and what comes with it. */
export function choose(chosen: Chosen, setting: string, option: AccountOption | undefined, value: string): Chosen {
  return { ...chosen, ...option?.also, [setting]: value };
}

/** The option that is proposed for an event: the only one that suits it. */
export function suggestedFor(options: readonly AccountOption[], event: string): AccountOption | undefined {
  const suiting = options.filter(({ suits }) => suits === event);
  return suiting.length === 1 ? suiting[0] : undefined;
}

/** The accounts whose contents could not be listed, with why. */
export function listingProblems(options: readonly AccountOption[]): string[] {
  return options.flatMap(({ label, problem }) => (problem === undefined ? [] : [`${label}: ${problem}`]));
}
