import type { ICommandHandler } from '@nestjs/cqrs';
import { CommandDispatcher } from '../kernel/command.js';
import {
  ConnectPlatformHandler,
  DisconnectPlatformHandler,
  ParkConnectionHandler,
  PauseConnectionHandler,
  ResumeConnectionHandler,
} from './connections/connection.handlers.js';
import { IssueKeyHandler, RevokeKeyHandler, RotateKeyHandler } from './keys/key.handlers.js';
import { CancelMoveHandler, StartMoveHandler } from './move.handlers.js';
import {
  AddSiteHandler,
  ChangeAliasesHandler,
  ChangeSiteSettingsHandler,
  DisableInboundHandler,
  EnableInboundHandler,
  PauseSiteHandler,
  RemoveSiteHandler,
  ResumeSiteHandler,
} from './site.handlers.js';
import type { SiteRepository } from './site-repository.js';
import type { SiteSecrets } from './site-secrets.js';
import {
  ChangeSourceMappingHandler,
  ConnectSourceHandler,
  DisconnectSourceHandler,
  RotateSourceHandler,
} from './sources/source.handlers.js';
import {
  DisableWebhookHandler,
  EnableWebhookHandler,
  RotateWebhookSecretHandler,
  SetWebhookHandler,
} from './webhook.handlers.js';

type SiteCommandHandler = new (sites: SiteRepository, secrets: SiteSecrets) => ICommandHandler;

export const SITE_COMMAND_HANDLERS: readonly SiteCommandHandler[] = [
  AddSiteHandler,
  EnableInboundHandler,
  DisableInboundHandler,
  PauseSiteHandler,
  ResumeSiteHandler,
  ChangeSiteSettingsHandler,
  ChangeAliasesHandler,
  RemoveSiteHandler,
  StartMoveHandler,
  CancelMoveHandler,
  IssueKeyHandler,
  RevokeKeyHandler,
  RotateKeyHandler,
  ConnectPlatformHandler,
  DisconnectPlatformHandler,
  PauseConnectionHandler,
  ResumeConnectionHandler,
  ParkConnectionHandler,
  ConnectSourceHandler,
  RotateSourceHandler,
  ChangeSourceMappingHandler,
  DisconnectSourceHandler,
  SetWebhookHandler,
  RotateWebhookSecretHandler,
  EnableWebhookHandler,
  DisableWebhookHandler,
];

/** Executes the commands of this folder without Nest. */
export function siteCommandDispatcher(sites: SiteRepository, secrets: SiteSecrets): CommandDispatcher {
  return new CommandDispatcher(SITE_COMMAND_HANDLERS.map((Handler) => new Handler(sites, secrets)));
}
