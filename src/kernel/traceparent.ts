/** W3C Trace Context, version 00: `00-<trace id>-<parent id>-<flags>`, in lower case. Ids of zeros are invalid. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const LENGTH = 55;

/** The place of a request in its sender's trace. Undefined for anything but one valid header: a trace never fails a request. */
export function readTraceparent(header: string | string[] | undefined): string | undefined {
  // The length is compared first: a header may have many kilobytes. Node joins repeated ones, which then are too long.
  return typeof header === 'string' && header.length === LENGTH && TRACEPARENT.test(header) ? header : undefined;
}

export function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, 35);
}

export function parentIdOf(traceparent: string): string {
  return traceparent.slice(36, 52);
}

/** Names the trace in a log line, as OpenTelemetry does. */
export function traceFields(traceparent: string | undefined): { readonly trace_id?: string } {
  return traceparent === undefined ? {} : { trace_id: traceIdOf(traceparent) };
}
