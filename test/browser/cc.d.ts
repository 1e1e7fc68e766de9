/** The global that the snippet and the tag define. */
declare const cc: { (...call: unknown[]): void; identifyEmail(email: string): void };
