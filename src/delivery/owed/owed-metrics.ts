import { Injectable } from '@nestjs/common';
import { Gauge, Registry } from 'prom-client';
import { withTimeout } from '../../kernel/with-timeout.js';
import { EventLog } from '../../log/event-log.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import { Postgres } from '../../postgres/postgres.js';
import { isHeldBack } from '../../sites/connections/connection.js';
import { ConnectionLabels } from '../connections/connection-labels.js';
import { Connections } from '../connections/connections.js';
import { OwedDeliveriesScan } from './owed-deliveries.scan.js';
import { reportOwed, scanLateMs } from './owed-report.js';

/** Counting reads every delivery that waits. */
const COUNT_EVERY_MS = 30_000;
const SCRAPE_TIMEOUT_MS = 1_000;

/** Reports what is owed, and for how long. The instance that scans reports the numbers; every instance reports a late scan. */
@Injectable()
export class OwedMetrics {
  private countedMs = Number.NEGATIVE_INFINITY;
  private lateMs = 0;

  constructor(
    private readonly postgres: Postgres,
    private readonly log: EventLog,
    private readonly scan: OwedDeliveriesScan,
    private readonly connections: Connections,
    private readonly labels: ConnectionLabels,
    registry: Registry,
  ) {
    const count = (gauge: Gauge<'platform'>) => this.count(gauge);
    const oldest = () => this.oldestSeconds();
    new Gauge({
      name: 'cc_deliveries_owed',
      help: 'Deliveries without a final outcome that wait for an attempt; reported by the instance that scans the log',
      labelNames: ['platform'],
      registers: [registry],
      async collect() {
        // The database is unavailable: the gauge keeps its last value.
        await withTimeout(count(this), SCRAPE_TIMEOUT_MS).catch(() => {});
      },
    });
    new Gauge({
      name: 'cc_deliveries_owed_oldest_seconds',
      help: 'How long ago the oldest owed delivery should have been attempted, without paused and parked connections',
      registers: [registry],
      async collect() {
        await withTimeout(oldest(), SCRAPE_TIMEOUT_MS).then(
          (seconds) => this.set(seconds),
          () => {},
        );
      },
    });
  }

  private async count(gauge: Gauge<'platform'>): Promise<void> {
    const unattempted = this.scan.owed();
    if (!unattempted) {
      gauge.reset();
      this.lateMs = 0;
      return;
    }
    if (performance.now() - this.countedMs < COUNT_EVERY_MS) return;
    const isWaiting = (site: string, platform: ConnectionName) => {
      const destination = this.connections.find(site, platform);
      return destination !== undefined && isHeldBack(destination);
    };
    const elsewhere = new Set(this.connections.closedSites());
    const isElsewhere = (site: string) => elsewhere.has(site);
    const { byPlatform, lateMs } = await reportOwed(this.postgres, unattempted, isWaiting, isElsewhere);
    this.countedMs = performance.now();
    this.lateMs = lateMs;
    gauge.reset();
    for (const [name, owed] of byPlatform) gauge.inc({ platform: this.labels.of(name) }, owed);
  }

  private async oldestSeconds(): Promise<number> {
    return Math.max(this.lateMs, await scanLateMs(this.postgres, this.log)) / 1_000;
  }
}
