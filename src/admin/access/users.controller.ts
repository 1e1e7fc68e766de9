import { Body, Controller, Get, HttpStatus, Inject, NotFoundException, Param, Patch, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import type { Actor } from '../../kernel/command.js';
import { SETTINGS, type Settings } from '../../kernel/settings/settings.js';
import type { Principal } from '../../users/access.js';
import type { UserRow } from '../../users/user.row.js';
import { adminAddress, signInLink, userDocument } from '../../users/user-document.js';
import { UsersService } from '../../users/users.service.js';
import { Returns } from '../returns.decorator.js';
import { linkSchema, listOf, newUserSchema, resetSchema, userChangeSchema, userSchema } from '../schemas.js';
import { Caller, RequiresUser } from './access.decorators.js';

const id = z.uuid();

@ApiTags('Users')
@Controller('users')
@RequiresUser('administer')
export class UsersController {
  constructor(
    private readonly users: UsersService,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  @Get()
  @ApiOperation({ summary: 'List users' })
  @Returns(listOf(userSchema), 'All users.')
  async list() {
    return { items: (await this.users.list()).map(userDocument) };
  }

  @Post()
  @ApiOperation({ summary: 'Add a user' })
  @Returns(linkSchema, 'The user, and a link with which they choose a password.', HttpStatus.CREATED)
  async add(@Body({ schema: newUserSchema }) user: z.output<typeof newUserSchema>, @Caller() { actor }: Principal) {
    return this.withLink(await this.users.add(user, actor), actor);
  }

  @Get(':id')
  @ApiOperation({ summary: 'Show a user' })
  @Returns(userSchema, 'The user.')
  async show(@Param('id', { schema: id }) userId: string) {
    return userDocument(await this.find(userId));
  }

  @Patch(':id')
  @ApiOperation({ summary: 'Change the name, role, sites or state of a user' })
  @Returns(
    userSchema,
    'The user after the change. A disabled user is signed out everywhere, and its tokens are revoked.',
  )
  async change(
    @Param('id', { schema: id }) userId: string,
    @Body({ schema: userChangeSchema }) change: z.output<typeof userChangeSchema>,
    @Caller() { actor }: Principal,
  ) {
    const changed = await this.users.change(userId, change, actor);
    if (!changed) throw unknownUser(userId);
    return userDocument(changed);
  }

  @Post(':id/reset')
  @ApiOperation({
    summary: 'End the sessions and the password of a user, and its API tokens if they are to be revoked',
  })
  @Returns(linkSchema, 'The user, and a link with which they choose a new password.')
  async reset(
    @Param('id', { schema: id }) userId: string,
    @Body({ schema: resetSchema }) request: z.output<typeof resetSchema>,
    @Caller() { actor }: Principal,
  ) {
    return this.withLink(await this.find(userId), actor, request);
  }

  private async find(userId: string): Promise<UserRow> {
    const user = await this.users.find(userId);
    if (!user) throw unknownUser(userId);
    return user;
  }

  private async withLink(user: UserRow, actor: Actor, request?: z.output<typeof resetSchema>) {
    const { secret, validTokens } = await this.users.reset(user.id, actor, request);
    return { user: userDocument(user), link: signInLink(adminAddress(this.settings), secret), validTokens };
  }
}

function unknownUser(userId: string): NotFoundException {
  return new NotFoundException(`There is no user ${userId}.`);
}
