/** The site's settings. The service inserts them when it serves the tag: see tag-script.ts. */
declare const CONFIG: { required: boolean; capture: boolean; days: number; clicks?: true };
/** What the manifests of the platforms say, as alternatives of regular expressions. */
declare const NAMES: { clicks: string; cookies: string; clickCookies: string };
