import 'pg';

/** What pg has and its types lack. */
declare module 'pg' {
  interface QueryConfig<I> {
    /** In milliseconds. */
    query_timeout?: number | undefined;
  }
}
