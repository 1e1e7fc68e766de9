import { Injectable } from '@nestjs/common';
import { type ConnectionName, platformNameOf } from '../../platforms/connection-name.js';

/** Distinct names of connections in the metrics of one process. */
export const NAMED_LABELS_MAX = 200;

/**
 * The label of a connection in metrics: its name. The sites choose the names, so their number is limited: those that are first
 * seen after the limit was reached share `<platform>:*`, which no connection is called.
 */
@Injectable()
export class ConnectionLabels {
  private readonly names = new Set<ConnectionName>();

  of(connection: ConnectionName): string {
    const platform = platformNameOf(connection);
    if (connection === platform || this.names.has(connection)) return connection;
    if (this.names.size >= NAMED_LABELS_MAX) return `${platform}:*`;
    this.names.add(connection);
    return connection;
  }
}
