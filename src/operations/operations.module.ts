import { Module } from '@nestjs/common';
import { HttpDrain } from '../http/http-drain.js';
import { KafkaModule } from '../kafka/kafka.module.js';
import { SitesModule } from '../sites/sites.module.js';
import { CellWatch } from './cell-watch.js';
import { ClockWatch } from './clock-watch.js';
import { FailoverWatch } from './failover-watch.js';
import { HealthController } from './health.controller.js';
import { MetricsController } from './metrics.controller.js';
import { OperatorsOnly } from './operators-only.guard.js';
import { TracingMetrics } from './tracing-metrics.js';

@Module({
  imports: [KafkaModule, SitesModule],
  controllers: [HealthController, MetricsController],
  providers: [CellWatch, ClockWatch, FailoverWatch, HttpDrain, OperatorsOnly, TracingMetrics],
  exports: [OperatorsOnly],
})
export class OperationsModule {}
