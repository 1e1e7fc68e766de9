import type { Schemas } from './api.js';
import { counted, formatNumber } from './format.js';

type Preview = Schemas['SettingsPreview'];

/** What changed settings would have removed, in sentences. */
export function previewSentences({ conversions, visits, undecided, untold }: Preview): string[] {
  const { was, would } = visits.removed;
  return [
    `Would have removed ${formatNumber(would)} of ${counted(visits.examined, 'visit')}${comparedWith(was, would)}.`,
    `Would have filtered ${counted(conversions.filtered.would, 'conversion')}${comparedWith(conversions.filtered.was, conversions.filtered.would)}, and counted ${formatNumber(conversions.received.would)}.`,
    ...(undecided > 0 ? [`${counted(undecided, 'conversion')} of erased people cannot be decided again.`] : []),
    ...(untold.length > 0
      ? [`The effect of ${untold.join(', ')} cannot be told: the log has no email addresses.`]
      : []),
  ];
}

/** The same number as it was recorded needs no comparison. */
function comparedWith(was: number, would: number): string {
  return was === would ? ', as recorded' : `, instead of ${formatNumber(was)}`;
}
