/** The site's settings. The service inserts them when it serves the tag: see tag-script.ts. */
declare const CONFIG: { required: boolean; capture: boolean; days: number };
