import type { Browser, BrowserServer, LaunchOptions } from 'playwright-core';

export const CHROMIUM_REMEDY: string;
export function launchChromium(options?: LaunchOptions): Promise<Browser | undefined>;
export function serveChromium(): Promise<BrowserServer | undefined>;
export function connectChromium(): Promise<Browser>;
