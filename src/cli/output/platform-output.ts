import type { ConnectionDocument } from '../../sites/connections/connection-document.js';
import { card } from './table.js';

export function connectionCard(document: ConnectionDocument): string {
  const { platform, state, reason, since, settings, endpoint, secret } = document;
  return card({
    platform,
    state: state ?? 'disconnected',
    ...(reason !== undefined && { reason }),
    since,
    settings: settingsText(settings),
    ...(endpoint !== undefined && { endpoint }),
    ...(secret !== undefined && { secret }),
  });
}

export function settingsText(settings: ConnectionDocument['settings']): string[] {
  return Object.entries(settings).map(([name, value]) => (value === true ? `${name} (secret)` : `${name}=${value}`));
}
