import { Injectable } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import { KnownSubjects } from './known-subjects.js';

@Injectable()
export class LookupMetrics {
  constructor(registry: Registry, known: KnownSubjects) {
    new Counter({
      name: 'cc_lookups_saved_total',
      help: 'Conversions of people without stored data, so that no visit was looked up',
      registers: [registry],
      collect() {
        this.reset();
        this.inc(known.saved);
      },
    });
  }
}
