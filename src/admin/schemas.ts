import { z } from 'zod';
import { type Bound, parseBound } from '../history/bound.js';
import { isEmail, normaliseEmail } from '../kernel/email.js';
import { CONNECTION_NAME_PATTERN, type ConnectionName } from '../platforms/connection-name.js';
import { OVERLAP_DEFAULT } from '../sites/keys/key-rotation.js';
import { ROLES, SCOPES } from '../users/access.js';

/** In the form of events and the command line: ISO 8601 with milliseconds, UTC. */
export const time = z.iso.datetime({ precision: 3 });
export const host = z.string().min(1).max(253).meta({ example: 'shop.example' });
export const connectionName = z
  .string()
  .regex(new RegExp(CONNECTION_NAME_PATTERN))
  .meta({ example: 'meta:second' }) as unknown as z.ZodType<ConnectionName>;
/** A point in the log, as the command line takes it. */
export const bound = z
  .string()
  .max(40)
  .refine((text) => parseBound(text) !== undefined, 'Give a time (ISO 8601) or a position.')
  .meta({
    description: 'A position or a time, UTC unless it has an offset.',
    example: '2026-03-01T09:30:00Z',
    anyOf: [{ pattern: '^\\d{1,15}$' }, { format: 'date' }, { format: 'date-time' }],
  })
  .transform((text) => parseBound(text) as Bound);
const label = z.string().trim().min(1).max(100);

export const siteSchema = z
  .object({
    id: z.uuid(),
    host,
    aliases: z.array(host),
    inbound: z.boolean().meta({ description: 'Whether conversions are accepted.' }),
    createdAt: time,
    paused: z
      .literal(true)
      .optional()
      .meta({ description: 'Senders are asked to try again later, and nothing is sent.' }),
    epoch: z.int().optional().meta({ description: 'How often the site has moved between cells, or was about to.' }),
    arrived: z.object({ epoch: z.int(), proof: z.string() }).optional().meta({
      description: 'Of a site that has come from another cell, in lists: by which move, as a proof for that cell.',
    }),
    move: z
      .object({
        state: z.enum(['copying', 'leaving', 'left', 'arriving', 'elsewhere']).meta({
          description:
            'copying: nothing has changed yet. leaving: conversions are accepted, and nothing is sent. left: another cell acts for the site. arriving: it is being copied to this cell. elsewhere: another cell acts for it, and the log of this one has lost its departure.',
        }),
        to: z.string().optional().meta({ description: 'Name of the cell that it moves to.' }),
        from: z.string().optional().meta({ description: 'Name of the cell that it comes from.' }),
        events: z.int().optional().meta({ description: 'Events that are copied, while it moves.' }),
        total: z.int().optional().meta({ description: 'Of so many when the move began.' }),
        url: z
          .string()
          .optional()
          .meta({ description: 'Of the dashboard and management API of that cell, if it is in CELLS.' }),
      })
      .optional()
      .meta({ description: 'Of a site that moves to another cell, or has moved.' }),
    removed: z.literal(true).optional(),
  })
  .meta({ id: 'Site' });

export const keySchema = z
  .object({
    id: z.uuid(),
    name: z.string(),
    prefix: z.string(),
    trial: z.boolean(),
    status: z.enum(['active', 'expired', 'revoked']),
    createdAt: time,
    lastUsedAt: time.nullable(),
    newKeyId: z.uuid().optional().meta({ description: 'The key that replaces this one.' }),
    expiresAt: time.optional().meta({ description: 'A replaced key is refused from this time on.' }),
  })
  .meta({ id: 'Key' });

export const keyRotationSchema = z
  .object({
    overlap: z
      .string()
      .max(20)
      .default(OVERLAP_DEFAULT)
      .meta({ description: 'How long both keys are accepted: 0s to 90d.', example: OVERLAP_DEFAULT }),
  })
  .strict()
  .default({ overlap: OVERLAP_DEFAULT });

export const newKeySchema = z.object({ name: label, trial: z.boolean().default(false) }).strict();

export const issuedKeySchema = keySchema
  .omit({ lastUsedAt: true, newKeyId: true, expiresAt: true })
  .extend({ key: z.string().meta({ description: 'The key itself. It cannot be shown again.' }) })
  .meta({ id: 'IssuedKey' });

export const userSchema = z
  .object({
    id: z.uuid(),
    email: z.string(),
    name: z.string(),
    role: z.enum(ROLES),
    sites: z.array(host).nullable().meta({ description: 'Null: all sites, including those added later.' }),
    disabled: z.boolean(),
    createdAt: time,
  })
  .meta({ id: 'User' });

export const sessionUserSchema = userSchema
  .extend({
    provider: z.literal(true).optional().meta({
      description:
        'The session came from the sign-in provider. After signing out here, /api/v1/session/provider/sign-out signs out there.',
    }),
  })
  .meta({ id: 'SessionUser' });

const siteList = z.array(host).max(1_000).nullable();

export const newUserSchema = z
  .object({ email: z.string().max(254), name: label.optional(), role: z.enum(ROLES), sites: siteList.default(null) })
  .strict();

export const userChangeSchema = z
  .object({ name: label, role: z.enum(ROLES), sites: siteList, disabled: z.boolean() })
  .partial()
  .strict();

export const linkSchema = z
  .object({
    user: userSchema,
    link: z.string().meta({ description: 'Opens a page to choose a password, once, for a day.' }),
    validTokens: z.int().meta({ description: 'API tokens of the user that can be used.' }),
  })
  .meta({ id: 'SignInLink' });

export const resetSchema = z
  .object({ revokeTokens: z.boolean().default(false).meta({ description: 'Also revoke the API tokens of the user.' }) })
  .strict()
  .default({ revokeTokens: false });

export const tokenSchema = z
  .object({
    id: z.uuid(),
    ownerId: z.uuid(),
    name: z.string(),
    prefix: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    sites: z.array(host).nullable(),
    createdAt: time,
    lastUsedAt: time.nullable(),
    expiresAt: time.nullable(),
    revoked: z.boolean(),
  })
  .meta({ id: 'Token' });

export const newTokenSchema = z
  .object({
    name: label,
    scopes: z.array(z.enum(SCOPES)).min(1),
    sites: siteList.default(null),
    expiresInDays: z.int().min(1).max(3_650).optional(),
  })
  .strict();

export const createdTokenSchema = tokenSchema
  .extend({ token: z.string().meta({ description: 'The token itself. It cannot be shown again.' }) })
  .meta({ id: 'CreatedToken' });

export const signInOptionsSchema = z
  .object({
    provider: z.boolean().meta({ description: 'Whether `/api/v1/session/provider` starts a sign-in.' }),
    hasUsers: z.boolean().meta({ description: 'False until the first user is added.' }),
    addUser: z.string().optional().meta({ description: 'While there is none: the command that adds one.' }),
  })
  .meta({ id: 'SignInOptions' });
export const signInSchema = z.object({ email: z.string().max(254), password: z.string().max(1_000) }).strict();
export const choosePasswordSchema = z
  .object({
    link: z.string().max(200).meta({ description: 'What follows # in the link.' }),
    password: z.string().max(1_000),
    email: z
      .string()
      .max(254)
      .refine((text) => isEmail(normaliseEmail(text)), 'not an email address')
      .optional()
      .meta({
        format: 'email',
        description: 'For a link that creates the first administrator. Without it: ADMIN_EMAIL.',
      }),
  })
  .strict();

export const passwordChangeSchema = z
  .object({ current: z.string().max(1_000), password: z.string().max(1_000) })
  .strict();

export const sessionSchema = z
  .object({
    current: z.boolean().meta({ description: 'Whether this request used it.' }),
    createdAt: time,
    lastUsedAt: time.meta({ description: 'Exact to a minute.' }),
    expiresAt: time.meta({ description: 'Unless it is used before.' }),
  })
  .meta({ id: 'Session' });

export const newSiteSchema = z.object({ host, aliases: z.array(host).max(50).default([]) }).strict();

export const listOf = <Item extends z.ZodType>(item: Item) => z.object({ items: z.array(item) });
