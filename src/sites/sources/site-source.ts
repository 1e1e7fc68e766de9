import type { SourceEvent } from '../../events/site.events.js';
import type { Mapping } from '../../sources/mapping/mapping.js';

/** A connected sender of webhooks, folded from the events of its site. Its secret is stored encrypted in `cc.secrets`. */
export interface SiteSource {
  readonly source: string;
  readonly keyId: string;
  /** Changes of the rules of the source. */
  readonly mapping: Mapping;
  readonly hasSecret: boolean;
  /** Until then the secret before this one is accepted, too. */
  readonly previousUntil?: string;
  readonly createdAt: string;
}

export function evolveSources(sources: readonly SiteSource[], event: SourceEvent, time: string): readonly SiteSource[] {
  const others = sources.filter(({ source }) => source !== event.data.source);
  if (event.type === 'site.source_disconnected.v1') return others;
  const before = sources.find(({ keyId }) => keyId === event.data.keyId);
  return [...others, { ...event.data, createdAt: before?.createdAt ?? time }];
}
