import { chmodSync, mkdirSync } from 'node:fs';

/** For root only: a lasting place that every account may enter, whatever root's umask is. */
export function systemFolder(): string {
  const folder = '/var/lib/clean-conversions';
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
  return folder;
}
