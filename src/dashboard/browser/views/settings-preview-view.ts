import type { Schemas } from '../api.js';
import { counted, formatNumber } from '../format.js';

type Preview = Schemas['SettingsPreview'];

/** Which effect of settings a page is about. */
export type PreviewTopic = 'traffic' | 'duplicates' | 'consent';

/** What changed settings would have done, in sentences. */
export function previewSentences(topic: PreviewTopic, preview: Preview): string[] {
  const { undecided, untold } = preview;
  if (!isExamined(preview)) return ['Nothing could be examined: there is too much to read back by the whole window.'];
  const [lists, byAddress] = [untold.filter(isScoreList), untold.filter((name) => !isScoreList(name))];
  return [
    ...SENTENCES[topic](preview),
    ...(undecided > 0 ? [`${counted(undecided, 'conversion')} of erased people cannot be decided again.`] : []),
    ...(lists.length > 0
      ? [
          `How many conversions ${lists.join(', ')} would have filtered cannot be told: they keep their recorded scores.`,
        ]
      : []),
    ...(byAddress.length > 0
      ? [`The effect of ${byAddress.join(', ')} cannot be told: the log has no email addresses.`]
      : []),
  ];
}

/** Whether there is anything that the numbers are about. */
export function isExamined({ from, to }: Pick<Preview, 'from' | 'to'>): boolean {
  return from !== to;
}

/** The lists that scores depend on. Visits are scored again, conversions are not. */
const SCORE_LISTS: readonly string[] = ['blockIps', 'allowIps', 'blockUserAgents', 'blockCountries'];

function isScoreList(setting: string): boolean {
  return SCORE_LISTS.includes(setting);
}

const SENTENCES: Readonly<Record<PreviewTopic, (preview: Preview) => string[]>> = {
  traffic: ({ conversions: { filtered, received }, visits: { examined, removed }, untold }) => [
    `Would have removed ${formatNumber(removed.would)} of ${counted(examined, 'visit')}${comparedWith(removed)}.`,
    ...(untold.some(isScoreList)
      ? []
      : [
          `Would have filtered ${counted(filtered.would, 'conversion')}${comparedWith(filtered)}, and counted ${formatNumber(received.would)}.`,
        ]),
  ],
  duplicates: ({ conversions: { deduplicated, received } }) => [
    `${moreOrFewer(deduplicated)} would have been removed as duplicates: ${formatNumber(deduplicated.would)}${comparedWith(deduplicated)}.`,
    `Would have counted ${counted(received.would, 'conversion')}${comparedWith(received)}.`,
  ],
  consent: ({ conversions: { received }, consent: { withheld, withoutPerson, notSent } }) => {
    const rest = (which: 'was' | 'would') => withheld[which] - withoutPerson[which] - notSent[which];
    const without = { was: rest('was'), would: rest('would') };
    return [
      ...(withoutPerson.was + withoutPerson.would > 0
        ? [
            `Would have sent ${counted(withoutPerson.would, 'conversion')} without anything personal, to platforms that take it${comparedWith(withoutPerson)}.`,
          ]
        : []),
      `Would have sent ${counted(without.would, 'conversion')} without what is known of the visit${comparedWith(without)}.`,
      `Would have kept ${counted(notSent.would, 'conversion')} from all platforms${comparedWith(notSent)}.`,
      `Of ${counted(received.was, 'conversion')} that were counted, by the consent that was known when they were received.`,
    ];
  },
};

interface Compared {
  readonly was: number;
  readonly would: number;
}

/** The same number as it was recorded needs no comparison. */
function comparedWith({ was, would }: Compared): string {
  return was === would ? ', as recorded' : `, instead of ${formatNumber(was)}`;
}

function moreOrFewer({ was, would }: Compared): string {
  if (was === would) return 'No more and no fewer conversions';
  const word = would > was ? 'more' : 'fewer';
  return counted(Math.abs(would - was), `${word} conversion`);
}
