// (c) The naive design: the same framework, an ordinary controller, one TypeORM insert per request.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Conversion } from './conversion.entity.mjs';
import { ConversionsController } from './conversions.controller.mjs';

class NaiveModule {}
Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env.DATABASE_URL,
      entities: [Conversion],
      synchronize: true,
    }),
    TypeOrmModule.forFeature([Conversion]),
  ],
  controllers: [ConversionsController],
})(NaiveModule);

const app = await NestFactory.create(NaiveModule, new FastifyAdapter(), { logger: ['error', 'warn'] });
app.enableShutdownHooks(undefined, { useProcessExit: true });
await app.listen(Number(process.env.PORT), '127.0.0.1');
console.log('ready');
