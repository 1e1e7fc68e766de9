/**
 * The server, its timeline, the database, and the table that states these: a copy differs in one of them, except for one of the files of
 * a server. A failover, or a backup that is restored under running processes, may bring back an earlier row of the lease: what its
 * holder knows about the progress is then about events that may be lost.
 */
export const LINEAGE = `(SELECT system_identifier FROM pg_control_system()) || ' ' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
  || ' ' || (SELECT oid FROM pg_database WHERE datname = current_database()) || ' ' || 'cc.lineage'::regclass::oid`;

/** The same as it was when the log was last written. */
export const STORED_LINEAGE = "(SELECT system || ' ' || timeline || ' ' || database FROM cc.lineage)";
