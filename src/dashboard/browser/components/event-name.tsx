import { conversionPath } from '../navigation.js';
import { conversionIdOf, eventTitle, eventTone, type LiveEvent } from '../stream/live-events.js';
import { Badge } from './badge.js';

/** What happened, which leads to its conversion. */
export function EventName({ site, event }: { site: string; event: LiveEvent }) {
  const id = conversionIdOf(event);
  const badge = <Badge tone={eventTone(event.type)}>{eventTitle(event.type)}</Badge>;
  return id === undefined ? badge : <a href={conversionPath(site, id)}>{badge}</a>;
}
