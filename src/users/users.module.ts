import { Module } from '@nestjs/common';
import { PasswordHasher } from './password.js';
import { SessionsService } from './sessions.service.js';
import { SignInThrottle } from './sign-in-throttle.js';
import { TokensService } from './tokens.service.js';
import { UsersService } from './users.service.js';

@Module({
  providers: [PasswordHasher, SessionsService, SignInThrottle, TokensService, UsersService],
  exports: [SessionsService, SignInThrottle, TokensService, UsersService],
})
export class UsersModule {}
