/** What the snippet and the tag put on a page. */
declare const cc: { (...call: unknown[]): void; identifyEmail(email: string): void };
