import { Global, Module } from '@nestjs/common';
import { OPT_OUTS } from '../delivery/opt-outs.js';
import { Postgres } from '../postgres/postgres.js';
import { findOptOuts } from '../visitors/find-opt-outs.js';

/** Tells deliveries who has opted out, which visitors know: that folder is above theirs. */
@Global()
@Module({
  providers: [{ provide: OPT_OUTS, useFactory: findOptOuts, inject: [Postgres] }],
  exports: [OPT_OUTS],
})
export class OptOutsModule {}
