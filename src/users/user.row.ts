import { Column, Entity, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Role, Scope } from './access.js';

@Entity({ name: 'users', schema: 'cc' })
export class UserRow {
  @PrimaryColumn('uuid')
  id!: string;

  /** Lower case; identifies the user at sign-in. */
  @Column('text')
  email!: string;

  @Column('text')
  name!: string;

  @Column('text')
  role!: Role;

  /** Null: all sites, including those added later. */
  @Column('text', { array: true, nullable: true })
  sites!: string[] | null;

  /** Null until the user has chosen a password, or if a sign-in provider is used. */
  @Column('text', { name: 'password_hash', nullable: true })
  passwordHash!: string | null;

  /** Digest of the account at the sign-in provider. */
  @Column('bytea', { nullable: true })
  identity!: Buffer | null;

  /** When the sign-in provider last stated a role. */
  @Column('timestamptz', { name: 'confirmed_at', nullable: true })
  confirmedAt!: Date | null;

  /** Refresh token of the provider, sealed. */
  @Column('bytea', { name: 'provider_grant', nullable: true })
  providerGrant!: Buffer | null;

  @Column('timestamptz', { name: 'disabled_at', nullable: true })
  disabledAt!: Date | null;

  @Column('timestamptz', { name: 'created_at' })
  createdAt!: Date;
}

/** A signed-in browser. */
@Entity({ name: 'user_sessions', schema: 'cc' })
export class UserSessionRow {
  /** SHA-256 of the cookie's value. */
  @PrimaryColumn('bytea')
  hash!: Buffer;

  @Column('uuid', { name: 'user_id' })
  userId!: string;

  @ManyToOne(() => UserRow)
  @JoinColumn({ name: 'user_id' })
  user!: UserRow;

  @Column('timestamptz', { name: 'created_at' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'last_used_at' })
  lastUsedAt!: Date;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}

@Entity({ name: 'api_tokens', schema: 'cc' })
export class ApiTokenRow {
  @PrimaryColumn('uuid')
  id!: string;

  @Column('uuid', { name: 'owner_id' })
  ownerId!: string;

  @ManyToOne(() => UserRow)
  @JoinColumn({ name: 'owner_id' })
  owner!: UserRow;

  @Column('text')
  name!: string;

  /** The first characters of the token, to recognise it by. */
  @Column('text')
  prefix!: string;

  /** SHA-256 of the token. It contains 32 random bytes, so the hash cannot be reversed. */
  @Column('bytea')
  hash!: Buffer;

  @Column('text', { array: true })
  scopes!: Scope[];

  @Column('text', { array: true, nullable: true })
  sites!: string[] | null;

  @Column('timestamptz', { name: 'created_at' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'last_used_at', nullable: true })
  lastUsedAt!: Date | null;

  @Column('timestamptz', { name: 'expires_at', nullable: true })
  expiresAt!: Date | null;

  @Column('timestamptz', { name: 'revoked_at', nullable: true })
  revokedAt!: Date | null;
}
