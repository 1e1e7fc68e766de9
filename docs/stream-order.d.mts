interface OrderedEvent {
  readonly id: string;
  readonly stream: string;
  readonly version: number;
}

export interface WaitingStream<Event extends OrderedEvent> {
  readonly events: Event[];
}

export class StreamOrder<Event extends OrderedEvent = OrderedEvent> {
  constructor(rememberedMax?: number);
  readonly waiting: WaitingStream<Event>[];
  add(event: Event): Event[];
  release(stream: WaitingStream<Event>): Event[];
}
