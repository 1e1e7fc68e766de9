import { createHash } from 'node:crypto';
import { BadRequestException, Body, Controller, Headers, HttpCode, Post, UnauthorizedException } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { QueryFailedError } from 'typeorm';
import { Conversion } from './conversion.entity.mjs';
import { sendToPlatforms } from './platforms.mjs';

const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const normalised = (text) => text.trim().toLowerCase();
const UNIQUE_VIOLATION = '23505';

/** The simplest implementation: validate, hash, one insert per request; the unique index detects duplicates. */
export class ConversionsController {
  constructor(conversions) {
    this.conversions = conversions;
  }

  async receive(key, body) {
    if (key !== process.env.API_KEY) throw new UnauthorizedException('Invalid API key');
    if (!body.email) throw new BadRequestException('email or hashed_email required');
    if (!body.event) throw new BadRequestException('event required');
    const { email, firstName, lastName, phone, ...rest } = body;
    const emailHash = sha256(normalised(email));
    const payload = {
      ...rest,
      firstNameHash: firstName && sha256(normalised(firstName)),
      lastNameHash: lastName && sha256(normalised(lastName)),
      phoneHash: phone && sha256(phone.replace(/[^0-9+]/g, '')),
    };
    const dedupKey = `${body.event}:${body.orderId ?? emailHash}`;
    try {
      await this.conversions.insert({ dedupKey, emailHash, event: body.event, payload });
    } catch (error) {
      if (error instanceof QueryFailedError && error.driverError.code === UNIQUE_VIOLATION) {
        return { ok: true, deduped: true };
      }
      throw error;
    }
    const sent = process.env.PLATFORMS_URL ? await sendToPlatforms(process.env.PLATFORMS_URL, emailHash, payload) : {};
    return { ok: true, event: body.event, results: sent };
  }
}

// Decorators applied by hand, because this file runs without a build.
const method = [ConversionsController.prototype, 'receive'];
const descriptor = Object.getOwnPropertyDescriptor(...method);
Headers('x-cc-api-key')(...method, 0);
Body()(...method, 1);
HttpCode(200)(...method, descriptor);
Post()(...method, descriptor);
Controller('/__cc/inbound')(ConversionsController);
InjectRepository(Conversion)(ConversionsController, undefined, 0);
