export interface SiteProgress {
  readonly hasKey: boolean;
  readonly hasConversion: boolean;
  readonly isTagSeen: boolean;
  readonly isConnected: boolean;
  readonly hasWebhook: boolean;
}

export type StepName = 'key' | 'conversion' | 'tag' | 'platform' | 'webhook';

export interface Step {
  readonly name: StepName;
  readonly title: string;
  readonly text: string;
  readonly isDone: boolean;
}

/** What is to be done for a new site, in order. */
export function firstSteps({ hasKey, hasConversion, isTagSeen, isConnected, hasWebhook }: SiteProgress): Step[] {
  return [
    { name: 'key', title: 'Create a key', text: 'for the system that reports conversions', isDone: hasKey },
    {
      name: 'conversion',
      title: 'Send a conversion',
      text: 'and watch it arrive',
      isDone: hasConversion,
    },
    { name: 'tag', title: 'Add the tag', text: 'it links conversions to ad clicks', isDone: isTagSeen },
    { name: 'platform', title: 'Connect a platform', text: 'where conversions are delivered', isDone: isConnected },
    { name: 'webhook', title: 'Set the webhook', text: 'which receives the totals', isDone: hasWebhook },
  ];
}

/** The first step that is not done. */
export function nextStep(steps: readonly Step[]): Step | undefined {
  return steps.find(({ isDone }) => !isDone);
}

/** "2 of 5 done". */
export function progressText(steps: readonly Step[]): string {
  return `${steps.filter(({ isDone }) => isDone).length} of ${steps.length} done`;
}

/** Whether these events mean that a step is done now. A busy site is not asked again for each of its events. */
export function completesStep(
  { hasConversion, isTagSeen }: SiteProgress,
  events: readonly { readonly type: string }[],
): boolean {
  return (
    (!hasConversion && events.some(({ type }) => type === 'conversion.received.v1')) ||
    (!isTagSeen && events.some(({ type }) => type.startsWith('visitor.')))
  );
}
