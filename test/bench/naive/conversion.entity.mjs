import { EntitySchema } from 'typeorm';

/** One row per conversion. The unique column rejects duplicates. */
export const Conversion = new EntitySchema({
  name: 'Conversion',
  tableName: 'conversions',
  columns: {
    id: { type: 'bigint', primary: true, generated: 'increment' },
    dedupKey: { type: 'text', unique: true },
    emailHash: { type: 'text' },
    event: { type: 'text' },
    payload: { type: 'jsonb' },
    receivedAt: { type: 'timestamptz', createDate: true },
  },
});
