import type { ICommandHandler } from '@nestjs/cqrs';
import type { SiteEvent } from '../../events/site.events.js';
import { CommandHandler } from '../../kernel/command.js';
import { UserError } from '../../kernel/errors.js';
import { uuidv7 } from '../../kernel/uuid.js';
import type { Site, SiteKey } from '../site.js';
import { SiteHandler } from '../site-command-handler.js';
import { apiKeyPrefix, generateApiKey, hashApiKey } from './api-key.js';
import { type IssuedKey, IssueKey, RevokeKey, RotateKey } from './key.commands.js';

@CommandHandler(IssueKey)
export class IssueKeyHandler extends SiteHandler implements ICommandHandler<IssueKey> {
  async execute({ host, actor, name, trial }: IssueKey): Promise<IssuedKey> {
    if (name.trim() === '' || name.length > 100)
      throw new UserError('--name: give the key a name of 1 to 100 characters.');
    const { key, keyId, issued } = newKey();
    const site = await this.sites.change(host, actor, () => issued({ name, trial }));
    return { ...findKey(site, keyId), key };
  }
}

@CommandHandler(RotateKey)
export class RotateKeyHandler extends SiteHandler implements ICommandHandler<RotateKey> {
  async execute({ host, actor, keyId: oldKeyId, expiresAt }: RotateKey): Promise<IssuedKey> {
    const { key, keyId, issued } = newKey();
    const site = await this.sites.change(host, actor, (site) => {
      const old = findKey(site, oldKeyId);
      requireCurrent(old);
      return [issued(old), { type: 'site.key_rotated.v1', data: { keyId: old.id, newKeyId: keyId, expiresAt } }];
    });
    return { ...findKey(site, keyId), key };
  }
}

@CommandHandler(RevokeKey)
export class RevokeKeyHandler extends SiteHandler implements ICommandHandler<RevokeKey> {
  async execute({ host, actor, keyId }: RevokeKey): Promise<SiteKey> {
    const site = await this.sites.change(host, actor, (site) => {
      const { status } = findKey(site, keyId);
      return status === 'revoked' ? undefined : { type: 'site.key_revoked.v1', data: { keyId } };
    });
    return findKey(site, keyId);
  }
}

/** A key, and the event that issues it. */
function newKey() {
  const key = generateApiKey();
  const keyId = uuidv7();
  const issued = ({ name, trial }: Pick<SiteKey, 'name' | 'trial'>): SiteEvent => ({
    type: 'site.key_issued.v1',
    data: { keyId, name, prefix: apiKeyPrefix(key), hash: hashApiKey(key), trial },
  });
  return { key, keyId, issued };
}

/** A second rotation of the same key would leave it unclear which key replaces it and when it expires. */
function requireCurrent({ id, status, rotation }: SiteKey): void {
  if (status === 'revoked')
    throw new UserError(`Key ${id} is revoked and has no successor to overlap with. Create a key.`);
  if (rotation)
    throw new UserError(
      `Key ${id} was replaced by key ${rotation.newKeyId} and is accepted until ${rotation.expiresAt}. Rotate the new key, or revoke this one to end the overlap.`,
    );
}

function findKey(site: Site, keyId: string): SiteKey {
  const key = site.keys.find((candidate) => candidate.id === keyId);
  if (!key)
    throw new UserError(`Site ${site.host} has no key ${keyId}. "keys list --site ${site.host}" shows its keys.`);
  return key;
}
