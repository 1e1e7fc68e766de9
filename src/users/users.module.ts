import { Module } from '@nestjs/common';
import { ExternalUsersService } from './external-users.service.js';
import { FirstAdministrator } from './first-administrator.js';
import { PasswordHasher } from './password.js';
import { SessionsService } from './sessions.service.js';
import { SignInThrottle } from './sign-in-throttle.js';
import { TokensService } from './tokens.service.js';
import { UsersService } from './users.service.js';

@Module({
  providers: [
    ExternalUsersService,
    FirstAdministrator,
    PasswordHasher,
    SessionsService,
    SignInThrottle,
    TokensService,
    UsersService,
  ],
  exports: [ExternalUsersService, FirstAdministrator, SessionsService, SignInThrottle, TokensService, UsersService],
})
export class UsersModule {}
