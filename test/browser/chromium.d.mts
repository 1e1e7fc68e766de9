import type { Browser, LaunchOptions } from 'playwright-core';

export const CHROMIUM_REMEDY: string;
export function launchChromium(options?: LaunchOptions): Promise<Browser | undefined>;
