import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { messageOf } from '../../kernel/errors.js';
import { Logger } from '../../kernel/logger.js';
import { SETTINGS, type Settings } from '../../kernel/settings/settings.js';
import { ErasureList } from './erasure-list.js';

/** Encrypts the list of erasures with SECRET_KEY while SECRET_KEY_PREVIOUS is set, as the secrets in the database. */
@Injectable()
export class ErasureListRotation implements OnModuleInit {
  constructor(
    private readonly list: ErasureList,
    private readonly logger: Logger,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async onModuleInit(): Promise<void> {
    if (!this.settings.secretKeyPrevious) return;
    const path = this.settings.erasureList;
    try {
      const resealed = await this.list.reencrypt();
      if (resealed > 0) this.logger.info('Sealed the list of erasures with SECRET_KEY', { path, resealed });
    } catch (error) {
      // Conversions do not depend on the list. "doctor" asks to keep the previous key until this has worked.
      this.logger.error('The list of erasures still needs SECRET_KEY_PREVIOUS: it could not be sealed again', {
        path,
        error: messageOf(error),
      });
    }
  }
}
