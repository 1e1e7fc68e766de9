/** By event type, the fields of the data that stay in the database: they are neither printed, exported nor published. */
export const UNPUBLISHED_FIELDS: Readonly<Record<string, readonly string[]>> = { 'site.key_issued.v1': ['hash'] };

/** The actor without the user of the operating system, who may be a person: `cli:<user>` becomes `cli`. The other ids are opaque. */
export function actorWithoutUser(actor: string): string {
  return actor.startsWith('cli:') ? 'cli' : actor;
}

/** The data of an event as it is printed, exported and published. */
export function publishedFields(type: string, data: object): object {
  const hidden = UNPUBLISHED_FIELDS[type];
  return hidden ? Object.fromEntries(Object.entries(data).filter(([name]) => !hidden.includes(name))) : data;
}
