/** By event type, the fields of the data that stay in the database: they are neither printed, exported nor published. */
export const UNPUBLISHED_FIELDS: Readonly<Record<string, readonly string[]>> = { 'site.key_issued.v1': ['hash'] };
