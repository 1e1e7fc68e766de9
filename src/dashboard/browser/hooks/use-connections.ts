import { api, type Schemas } from '../api.js';
import { CHANGING } from '../stream/changing-types.js';
import type { Connection } from '../views/connection-view.js';
import { type Loaded, useData } from './use-data.js';
import { useLive } from './use-live.js';

interface Connections {
  readonly connections: readonly Connection[];
  readonly waiting: Schemas['WaitingDeliveries'];
}

/** The connections of a site and how many deliveries wait for each, as they are now. */
export function useConnections(site: string, version = 0): Loaded<Connections> {
  const path = { site };
  const loaded = useData(
    `connections ${site}`,
    async () => {
      // Before the connections, which are then at least as new as its position.
      const waiting = await api.GET('/api/v1/sites/{site}/deliveries/waiting', { path });
      const { items } = await api.GET('/api/v1/sites/{site}/connections', { path });
      return { connections: items, waiting };
    },
    version,
  );
  useLive(site, CHANGING.connections, loaded, ({ waiting }) => waiting.asOf.position);
  return loaded;
}
