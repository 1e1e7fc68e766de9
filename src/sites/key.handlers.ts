import type { ICommandHandler } from '@nestjs/cqrs';
import { CommandHandler } from '../kernel/command.js';
import { UserError } from '../kernel/errors.js';
import { uuidv7 } from '../kernel/uuid.js';
import { apiKeyPrefix, generateApiKey, hashApiKey } from './api-key.js';
import { type IssuedKey, IssueKey, RevokeKey } from './key.commands.js';
import type { Site, SiteKey } from './site.js';
import type { SiteRepository } from './site-repository.js';

@CommandHandler(IssueKey)
export class IssueKeyHandler implements ICommandHandler<IssueKey> {
  constructor(private readonly sites: SiteRepository) {}

  async execute({ host, actor, name, trial }: IssueKey): Promise<IssuedKey> {
    if (name.trim() === '' || name.length > 100)
      throw new UserError('--name: give the key a name of 1 to 100 characters.');
    const key = generateApiKey();
    const keyId = uuidv7();
    const site = await this.sites.change(host, actor, () => ({
      type: 'site.key_issued.v1',
      data: { keyId, name, prefix: apiKeyPrefix(key), hash: hashApiKey(key), trial },
    }));
    return { ...findKey(site, keyId), key };
  }
}

@CommandHandler(RevokeKey)
export class RevokeKeyHandler implements ICommandHandler<RevokeKey> {
  constructor(private readonly sites: SiteRepository) {}

  async execute({ host, actor, keyId }: RevokeKey): Promise<SiteKey> {
    const site = await this.sites.change(host, actor, (site) => {
      const { status } = findKey(site, keyId);
      return status === 'revoked' ? undefined : { type: 'site.key_revoked.v1', data: { keyId } };
    });
    return findKey(site, keyId);
  }
}

function findKey(site: Site, keyId: string): SiteKey {
  const key = site.keys.find((candidate) => candidate.id === keyId);
  if (!key)
    throw new UserError(`Site ${site.host} has no key ${keyId}. "keys list --site ${site.host}" shows its keys.`);
  return key;
}
