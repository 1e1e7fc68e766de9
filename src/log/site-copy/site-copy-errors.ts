/** Another log has sent rows of a site that cannot be stored here. Nothing of their page was stored. */
export class SiteCopyRefused extends Error {
  override readonly name = 'SiteCopyRefused';

  /** `next`: what to do. */
  constructor(
    readonly reason: string,
    next = 'Nothing of the page was stored. Run "history verify" where it comes from: that log may be damaged, or of another version.',
  ) {
    super(`The copied events are refused: ${reason}. ${next}`);
  }
}

/** Two logs have continued a stream, each with events of its own. */
export class SiteForked extends Error {
  override readonly name = 'SiteForked';

  /** `here`: the id of the event that this log has in its place; undefined if it has none. */
  constructor(
    readonly stream: string,
    readonly version: number,
    readonly arriving: string,
    readonly here: string | undefined,
  ) {
    super(
      here === undefined
        ? `Version ${version} of the stream ${stream} arrived (event ${arriving}), and the version before it is missing here. Copy the site again from its start.`
        : `Both logs have continued the stream ${stream}: version ${version} is event ${arriving} in the one that sends it and event ${here} here. Nothing of the page was stored. Decide which log is right; the site cannot move until one of them is restored.`,
    );
  }
}
