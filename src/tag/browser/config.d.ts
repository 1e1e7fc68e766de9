/** The site's settings, put in by the service: see tag-script.ts. */
declare const CONFIG: { required: boolean; capture: boolean; days: number };
