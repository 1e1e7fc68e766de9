import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A row of the projection `key_usage`. */
@Entity({ name: 'key_usage', schema: 'cc' })
export class KeyUsageRow {
  @PrimaryColumn('uuid', { name: 'key_id' })
  keyId!: string;

  @Column('timestamptz', { name: 'last_used_at' })
  lastUsedAt!: Date;
}
