import { Module } from '@nestjs/common';
import { HttpDrain } from '../http/http-drain.js';
import { HealthController } from './health.controller.js';
import { MetricsController } from './metrics.controller.js';
import { OperatorsOnly } from './operators-only.guard.js';

@Module({
  controllers: [HealthController, MetricsController],
  providers: [HttpDrain, OperatorsOnly],
  exports: [OperatorsOnly],
})
export class OperationsModule {}
