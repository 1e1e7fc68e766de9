import type { Readable } from 'node:stream';
import { createServices, type Services } from '../app/services.js';
import { CommandDispatcher, type CommandExecutor } from '../kernel/command.js';
import { UserError } from '../kernel/errors.js';
import { openSealer } from '../kernel/secret-key.js';
import { readSettings } from '../kernel/settings/settings.js';
import { SIGN_IN_PLATFORMS } from '../platforms/index.js';
import { Postgres } from '../postgres/postgres.js';
import { requireMatchingKey } from '../sites/keys/key-check.js';
import type { Site } from '../sites/site.js';
import { siteCommandDispatcher } from '../sites/site-command-handlers.js';
import { SiteRepository } from '../sites/site-repository.js';
import type { SecretInput } from './arguments/secret-input.js';
import type { Output } from './output/output.js';

export interface CliDependencies extends Services {
  readonly commands: CommandExecutor;
  /** Commands of sites: they are refused as those are, and change nothing. */
  readonly dryRunCommands: CommandExecutor;
}

/** One run of the command line. The first command that needs the database opens it; it is closed at the end. */
export class Session {
  exitCode = 0;
  private dependencies: Promise<CliDependencies> | undefined;

  constructor(
    readonly environment: NodeJS.ProcessEnv,
    readonly output: Output,
    /** Aborted by Ctrl-C. */
    readonly stop: AbortSignal,
    readonly input: SecretInput,
    readonly stdin?: Readable | undefined,
  ) {}

  /** Whether a person can be asked. A script that a person runs in a terminal usually captures the output. */
  get isInteractive(): boolean {
    return this.output.isTerminal && (this.stdin as { isTTY?: boolean } | undefined)?.isTTY === true;
  }

  /** Throws if SECRET_KEY is not the one of the service: what it seals, the service could not open. */
  async open(): Promise<CliDependencies> {
    const dependencies = await this.openWithAnyKey();
    await requireMatchingKey(dependencies.postgres.pool, dependencies.sealer);
    return dependencies;
  }

  /** Also reads a site, by its host or an alias. */
  async openSite(host: string): Promise<CliDependencies & { readonly site: Site }> {
    const dependencies = await this.open();
    return { ...dependencies, site: await dependencies.sites.get(host) };
  }

  /** Throws after Ctrl-C. The message says what that leaves. */
  throwIfStopped(message: string): void {
    if (this.stop.aborted) throw new UserError(message);
  }

  /** For commands that report a wrong key with everything else, and write nothing. */
  openWithAnyKey(): Promise<CliDependencies> {
    this.dependencies ??= this.connect();
    return this.dependencies;
  }

  async close(): Promise<void> {
    const dependencies = await this.dependencies?.catch(() => undefined);
    // A failure must not prevent closing the pool: an open pool keeps the process alive.
    await dependencies?.log.close().catch(() => {});
    await dependencies?.postgres.close();
  }

  private async connect(): Promise<CliDependencies> {
    const settings = readSettings(this.environment, SIGN_IN_PLATFORMS);
    const sealer = openSealer(settings);
    const { databaseUrl, standby, dataDir } = settings;
    const onMessage = (line: string) => this.output.note(line);
    const postgres = await Postgres.open({ databaseUrl, standby, dataDir, onMessage });
    const services = createServices({ settings, postgres, sealer }, { logger: { warn: onMessage, error: onMessage } });
    const { log, secrets, handlers } = services;
    return {
      ...services,
      commands: new CommandDispatcher(handlers),
      dryRunCommands: siteCommandDispatcher(new SiteRepository(log, { isDryRun: true }), secrets),
    };
  }
}
