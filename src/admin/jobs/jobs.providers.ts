import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { JobRunner } from '../../jobs/job-runner.js';
import { JobStore } from '../../jobs/job-store.js';
import { runJob } from '../../jobs/run-job.js';
import { Logger } from '../../kernel/logger.js';
import { Dependencies } from '../dependencies.js';

/** Starts and stops the runner with the management API. */
@Injectable()
class JobsLifecycle implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(
    @Inject(JobRunner) private readonly runner: JobRunner,
    private readonly dependencies: Dependencies,
  ) {}

  onApplicationBootstrap(): void {
    this.runner.start(this.dependencies.settings.intervals.jobMs);
  }

  async onModuleDestroy(): Promise<void> {
    await this.runner.stop();
  }
}

export const JOB_PROVIDERS = [
  {
    provide: JobStore,
    useFactory: ({ postgres }: Dependencies) => new JobStore(postgres),
    inject: [Dependencies],
  },
  {
    provide: JobRunner,
    useFactory: (store: JobStore, dependencies: Dependencies, logger: Logger) =>
      new JobRunner(store, dependencies.postgres.clock, (job, run) => runJob(dependencies, job, run), logger),
    inject: [JobStore, Dependencies, Logger],
  },
  JobsLifecycle,
];
