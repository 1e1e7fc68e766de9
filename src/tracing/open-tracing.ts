import type { Logger } from '../kernel/logger.js';
import type { Settings } from '../kernel/settings/settings.js';
import { NO_TRACING, type Tracing } from './tracing.js';

/** Loads OpenTelemetry only where a collector is configured. */
export async function openTracing(
  { otlpEndpoint, traceRatio, cell }: Pick<Settings, 'otlpEndpoint' | 'traceRatio' | 'cell'>,
  logger: Pick<Logger, 'warn' | 'info'>,
): Promise<Tracing> {
  if (otlpEndpoint === undefined) return NO_TRACING;
  const { OtlpTracing } = await import('./otlp-tracing.js');
  return new OtlpTracing({ endpoint: otlpEndpoint, ratio: traceRatio, cell }, logger);
}
