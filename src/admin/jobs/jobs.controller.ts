import { Readable } from 'node:stream';
import {
  Body,
  Controller,
  Delete,
  Get,
  Headers,
  HttpException,
  HttpStatus,
  NotFoundException,
  Param,
  Post,
  Query,
  Res,
  StreamableFile,
} from '@nestjs/common';
import { ApiOperation, ApiProduces, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { type Job, jobDocument } from '../../jobs/job.js';
import { JobRunner } from '../../jobs/job-runner.js';
import { JobStore } from '../../jobs/job-store.js';
import type { Site } from '../../sites/site.js';
import { type Principal, seesSite } from '../../users/access.js';
import { Caller, Requires } from '../access/access.decorators.js';
import { Dependencies } from '../dependencies.js';
import { Returns } from '../returns.decorator.js';
import { SiteParam, scopeOf } from '../sites/site.param.js';
import { parseRange } from './file-range.js';
import { jobPageSchema, jobSchema, jobsQuery, newJobSchema } from './jobs.schemas.js';
import { confirmedReplay, prepareJob } from './new-job.js';
import { readFile } from './read-file.js';

const FILE_TYPES = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8',
  parquet: 'application/octet-stream',
};

@ApiTags('Jobs')
@Controller()
export class JobsController {
  constructor(
    private readonly dependencies: Dependencies,
    private readonly store: JobStore,
    private readonly runner: JobRunner,
  ) {}

  @Post('sites/:site/jobs')
  @Requires('write')
  @ApiOperation({ summary: 'Export events, repeat deliveries after a dry run, or replay a range with other rules' })
  @Returns(jobSchema, 'The job, which is carried out in the background.', HttpStatus.ACCEPTED)
  async create(
    @SiteParam() site: Site,
    @Body({ schema: newJobSchema }) job: z.output<typeof newJobSchema>,
    @Caller() caller: Principal,
  ) {
    const { log, secrets } = this.dependencies;
    const request =
      'dryRun' in job
        ? confirmedReplay(await this.store.find(job.dryRun), site.host)
        : await prepareJob(log, site, job, scopeOf(caller, site), await secrets.dedupSecret(site.host));
    const created = await this.store.create(site.host, caller.actor, request, 'dryRun' in job ? job.dryRun : undefined);
    this.runner.poll();
    return jobDocument(created);
  }

  @Get('jobs')
  @Requires('read')
  @ApiOperation({ summary: 'Jobs of the last week, newest first' })
  @Returns(jobPageSchema, 'One page.')
  async list(
    @Query({ schema: jobsQuery }) { site, cursor, limit }: z.output<typeof jobsQuery>,
    @Caller() caller: Principal,
  ) {
    if (site !== undefined && !seesSite(caller, site)) throw new NotFoundException(`There is no site ${site}.`);
    const jobs = await this.store.list(site === undefined ? caller.sites : [site], cursor, limit);
    const last = jobs.length === limit ? jobs.at(-1) : undefined;
    return { items: jobs.map(jobDocument), ...(last && { next: last.id }) };
  }

  @Get('jobs/:id')
  @Requires('read')
  @ApiOperation({ summary: 'Show a job with its progress and result' })
  @Returns(jobSchema, 'The job.')
  async show(@Param('id', { schema: z.uuid() }) id: string, @Caller() caller: Principal) {
    return jobDocument(await this.find(id, caller));
  }

  @Delete('jobs/:id')
  @Requires('write')
  @ApiOperation({ summary: 'Cancel a job, or delete the file of one that has finished' })
  @Returns(jobSchema, 'The job. One that runs ends within seconds.')
  async cancel(@Param('id', { schema: z.uuid() }) id: string, @Caller() caller: Principal) {
    await this.store.cancel(await this.find(id, caller), caller.actor);
    return jobDocument(await this.find(id, caller));
  }

  /** Exports have personal parts, as on the command line: they are for those who operate the site. */
  @Get('jobs/:id/file')
  @Requires('write')
  @ApiOperation({ summary: 'Download the file of an export' })
  @ApiProduces(...Object.values(FILE_TYPES))
  @ApiResponse({ status: HttpStatus.OK, description: 'The file.' })
  @ApiResponse({ status: HttpStatus.PARTIAL_CONTENT, description: 'The part that the header Range asks for.' })
  async file(
    @Param('id', { schema: z.uuid() }) id: string,
    @Headers('range') rangeHeader: string | undefined,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<StreamableFile> {
    const { request, fileUntil, reason, bytes: size } = await this.find(id, caller);
    if (!fileUntil || request.kind !== 'export')
      throw new NotFoundException(
        `The job ${id} has no file. ${reason ?? 'A file is kept for a day after its export has succeeded.'}`,
      );
    const range = parseRange(rangeHeader, size);
    void reply.header('accept-ranges', 'bytes');
    if (range === 'unsatisfiable') {
      void reply.header('content-range', `bytes */${size}`);
      throw new HttpException(`The file has ${size} bytes.`, HttpStatus.REQUESTED_RANGE_NOT_SATISFIABLE);
    }
    const { start, length } = range ?? { start: 0, length: size };
    if (range)
      void reply
        .status(HttpStatus.PARTIAL_CONTENT)
        .header('content-range', `bytes ${start}-${start + length - 1}/${size}`);
    // The answer to HEAD has the length, but no content.
    const parts = reply.request.method === 'HEAD' ? [] : readFile(this.store, id, { start, length });
    const content = Readable.from(parts, { objectMode: false });
    // If the caller left, the rest is not read.
    reply.raw.once('close', () => content.destroy());
    return new StreamableFile(content, {
      type: FILE_TYPES[request.format],
      disposition: `attachment; filename="${'table' in request ? request.table : 'events'}-${id}.${request.format}"`,
      length,
    });
  }

  /** A job of a site that the caller may not see does not exist. */
  private async find(id: string, caller: Principal): Promise<Job> {
    const job = await this.store.find(id);
    if (!job || !seesSite(caller, job.site)) throw new NotFoundException(`There is no job ${id}.`);
    return job;
  }
}
