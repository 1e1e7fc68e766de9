// Delivers the events of several logs once by id, and those of a stream in the order of their versions: a site that has moved to
// another cell has the beginning of its streams on the topics of the first one. docs/kafka.md describes the rule.

/** How many streams and events are remembered. A stream that was forgotten waits as one whose beginning is missing. */
const REMEMBERED_MAX = 1_000_000;

export class StreamOrder {
  #ids = new Set();
  /** By stream: the last version that was delivered. */
  #versions = new Map();
  /** By stream: events that wait for an earlier version. */
  #waiting = new Map();

  constructor(rememberedMax = REMEMBERED_MAX) {
    this.rememberedMax = rememberedMax;
  }

  /** Returns the events that can be delivered now, in order. */
  add(event) {
    const { id, stream, version } = event;
    if (this.#ids.has(id)) return [];
    remember(this.#ids, this.rememberedMax, () => this.#ids.add(id));
    if (version <= this.#next(stream)) return this.#deliver(stream, [event]);
    const waiting = this.#waiting.get(stream) ?? { events: [] };
    waiting.events.push(event);
    waiting.events.sort((a, b) => a.version - b.version);
    this.#waiting.set(stream, waiting);
    return [];
  }

  /** The streams that wait. The caller decides until when, and may keep its own fields in these objects. */
  get waiting() {
    return [...this.#waiting.values()];
  }

  /** Gives up waiting for the versions before these. If they arrive all the same, they are delivered then. */
  release({ events: [first] }) {
    const { stream, version } = first;
    this.#versions.set(stream, version - 1);
    return this.#deliver(stream, []);
  }

  #next(stream) {
    return (this.#versions.get(stream) ?? 0) + 1;
  }

  #deliver(stream, events) {
    for (const { version } of events) this.#remember(stream, version);
    const waiting = this.#waiting.get(stream)?.events ?? [];
    while (waiting.length > 0 && waiting[0].version <= this.#next(stream)) {
      this.#remember(stream, waiting[0].version);
      events.push(waiting.shift());
    }
    this.#waiting.delete(stream);
    // What still waits, waits for another event than before.
    if (waiting.length > 0) this.#waiting.set(stream, { events: waiting });
    return events;
  }

  #remember(stream, version) {
    const last = Math.max(version, this.#versions.get(stream) ?? 0);
    this.#versions.delete(stream);
    remember(this.#versions, this.rememberedMax, () => this.#versions.set(stream, last));
  }
}

/** Sets and maps iterate in the order of insertion: the first key is the oldest. */
function remember(collection, max, add) {
  add();
  if (collection.size > max) collection.delete(collection.keys().next().value);
}
