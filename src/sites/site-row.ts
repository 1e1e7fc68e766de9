import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { FilterList, SiteSettings } from '../events/site.events.js';
import type { SiteConnection } from './connections/connection.js';
import type { SiteKey, SiteMove } from './site.js';
import type { SiteSource } from './sources/site-source.js';
import type { SiteWebhook } from './webhook.js';

/** A row of the projection `sites`. */
@Entity({ name: 'sites', schema: 'cc' })
export class SiteRow {
  @PrimaryColumn('uuid')
  id!: string;

  @Column('text')
  host!: string;

  @Column('json')
  aliases!: string[];

  @Column('boolean')
  inbound!: boolean;

  @Column('boolean')
  paused!: boolean;

  @Column('integer')
  epoch!: number;

  @Column('json', { nullable: true })
  move!: SiteMove | null;

  @Column('json')
  settings!: Omit<SiteSettings, FilterList>;

  @Column('json')
  keys!: SiteKey[];

  @Column('json')
  connections!: SiteConnection[];

  @Column('json')
  sources!: SiteSource[];

  @Column('json', { nullable: true })
  webhook!: SiteWebhook | null;

  @Column('boolean')
  removed!: boolean;

  @Column('timestamptz', { name: 'created_at' })
  createdAt!: Date;
}
