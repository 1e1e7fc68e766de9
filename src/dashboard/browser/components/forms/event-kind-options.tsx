import { EVENT_GROUPS, type EventGroup, eventTitle, typesOf } from '../../stream/live-events.js';

/** The choices of a list of events: all, a group of them, or one type. */
export function EventKindOptions() {
  return (
    <>
      <option value="">All events</option>
      {Object.entries(EVENT_GROUPS).map(([group, title]) => (
        <optgroup key={group} label={title}>
          <option value={group}>{title}: all</option>
          {typesOf(group as EventGroup)?.map((type) => (
            <option key={type} value={type}>
              {eventTitle(type)}
            </option>
          ))}
        </optgroup>
      ))}
    </>
  );
}
