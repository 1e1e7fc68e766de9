/** The value of a `datetime-local` field, which is in the viewer's zone, as the API reads it. Undefined if it is empty. */
export function fromLocal(local: string): string | undefined {
  return local === '' ? undefined : new Date(local).toISOString();
}

/** A time for a `datetime-local` field. */
export function toLocal(time: string | undefined): string {
  if (time === undefined) return '';
  const date = new Date(time);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
