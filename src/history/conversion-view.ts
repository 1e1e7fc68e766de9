import type { ConversionHistory } from './conversion-history.js';
import { maskValues } from './mask-values.js';
import { redactEvent } from './redact-event.js';

/** The history as it is shown to a reader with or without access to personal data. */
export function conversionView(
  { conversion, match, deliveries, events, ...history }: ConversionHistory,
  isPersonal: boolean,
) {
  const shown = (value: unknown) => (isPersonal ? value : maskValues(value, conversion));
  return {
    ...history,
    conversion,
    masked: !isPersonal,
    match: match && shown(match),
    deliveries: deliveries.map(({ payload, ...delivery }) => ({
      ...delivery,
      ...(payload !== undefined && { payload: shown(payload) }),
    })),
    events: events.map((event) => {
      const { personal, ...facts } = redactEvent(event);
      return isPersonal ? { ...facts, personal } : facts;
    }),
  };
}
