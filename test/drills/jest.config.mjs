import config from '../jest.config.mjs';

const [{ testMatch: _, displayName: __, ...common }] = config.projects;

/** `npm run drills`: what takes too long for every day. One after the other, since they need the machine for themselves. */
export default { ...common, testMatch: ['<rootDir>/test/drills/*.drill.ts'], maxWorkers: 1 };
