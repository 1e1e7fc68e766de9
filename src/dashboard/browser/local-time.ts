/** The value of a `datetime-local` field, which is in the viewer's zone, as the API reads it. Undefined if it is no time. */
export function fromLocal(local: string): string | undefined {
  const date = new Date(local);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** A time for a `datetime-local` field. */
export function toLocal(time: string | undefined): string {
  const date = new Date(time ?? '');
  if (Number.isNaN(date.getTime())) return '';
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
