import {
  Body,
  Controller,
  Delete,
  ForbiddenException,
  Get,
  HttpStatus,
  NotFoundException,
  Param,
  Post,
  UnauthorizedException,
} from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { UserError } from '../../kernel/errors.js';
import { may, type Principal, seesSite } from '../../users/access.js';
import { TokensService } from '../../users/tokens.service.js';
import { tokenDocument } from '../../users/user-document.js';
import { UsersService } from '../../users/users.service.js';
import { Returns, ReturnsNothing } from '../returns.decorator.js';
import { createdTokenSchema, listOf, newTokenSchema, tokenSchema } from '../schemas.js';
import { Caller, RequiresUser, SessionCookie } from './access.decorators.js';
import { ProviderCheck } from './provider-check.js';

const EXTERNAL_DAYS = 90;
const EXTERNAL_DAYS_MAX = 365;

@ApiTags('Tokens')
@Controller('tokens')
@RequiresUser('read')
export class TokensController {
  constructor(
    private readonly tokens: TokensService,
    private readonly users: UsersService,
    private readonly check: ProviderCheck,
  ) {}

  @Get()
  @ApiOperation({ summary: 'List API tokens: your own, or all of them as an administrator' })
  @Returns(listOf(tokenSchema), 'The tokens, also revoked ones.')
  async list(@Caller() caller: Principal) {
    return { items: (await this.tokens.list(ownerLimit(caller))).map(tokenDocument) };
  }

  @Post()
  @ApiOperation({ summary: 'Create an API token' })
  @Returns(createdTokenSchema, 'The token. It is shown this once.', HttpStatus.CREATED)
  async create(
    @Body({ schema: newTokenSchema }) token: z.output<typeof newTokenSchema>,
    @Caller() caller: Principal,
    @SessionCookie() session: string,
  ) {
    const lacking = token.scopes.find((scope) => !may(caller, scope));
    if (lacking !== undefined) throw new ForbiddenException(`You do not have the permission "${lacking}" yourself.`);
    const hidden = token.sites?.find((host) => !seesSite(caller, host));
    if (hidden !== undefined) throw new NotFoundException(`There is no site ${hidden}.`);
    const owner = await this.users.find(caller.userId);
    const expiresInDays = owner && this.check.manages(owner) ? limitedDays(token) : token.expiresInDays;
    const created = await this.tokens.create({ userId: caller.userId, session }, { ...token, expiresInDays });
    if (!created) throw new UnauthorizedException('Your session has ended. Sign in again.');
    return { ...tokenDocument(created.row), token: created.token };
  }

  @Delete(':id')
  @ApiOperation({ summary: 'Revoke an API token at once' })
  @ReturnsNothing('The token is revoked.')
  async revoke(@Param('id', { schema: z.uuid() }) id: string, @Caller() caller: Principal): Promise<void> {
    if (!(await this.tokens.revoke(id, ownerLimit(caller), caller.actor)))
      throw new NotFoundException(`There is no token ${id}.`);
  }
}

/** A token of a person whose role is decided elsewhere does not stay for ever if that is not asked any more. */
function limitedDays({ expiresInDays = EXTERNAL_DAYS }: { readonly expiresInDays?: number | undefined }): number {
  if (expiresInDays > EXTERNAL_DAYS_MAX)
    throw new UserError(`Your role is given by the sign-in provider: choose at most ${EXTERNAL_DAYS_MAX} days.`);
  return expiresInDays;
}

/** Administrators see the tokens of all users. */
function ownerLimit(caller: Principal): string | undefined {
  return may(caller, 'administer') ? undefined : caller.userId;
}
