import type { Call, Platform, PlatformRequest } from '../../platforms/platform.js';

/** The request with these payloads of one group. What is sent and what is shown are built here. */
export function deliveryRequest(platform: Platform, bodies: readonly string[], call: Call): PlatformRequest {
  const { connection, group, accessToken, nowMs, traceparent } = call;
  // Never to an ad platform, which could link its requests to others of the sender.
  const trace = platform.customerAddress ? traceparent : undefined;
  return platform.request(bodies, { connection, group, accessToken, nowMs, traceparent: trace });
}
