import config from '../jest.config.mjs';

const { testMatch: _, displayName: __, ...common } = config.projects.find(({ displayName }) => displayName === 'full');

/** `npm run drills`: too slow for every test run. One at a time, because each needs the whole machine. */
export default { ...common, testMatch: ['<rootDir>/test/drills/*.drill.ts'], maxWorkers: 1 };
