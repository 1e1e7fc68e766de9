import { applyDecorators, HttpCode, HttpStatus, SerializeOptions } from '@nestjs/common';
import { ApiNoContentResponse, ApiResponse } from '@nestjs/swagger';
import type { ZodType } from 'zod';

/** The answer of a route: described in the OpenAPI document, and reduced to what the schema names before it is sent. */
export function Returns(schema: ZodType, description: string, status: number = HttpStatus.OK) {
  return applyDecorators(
    HttpCode(status),
    SerializeOptions({ schema }),
    ApiResponse({ status, description, standardSchema: schema }),
  );
}

export function ReturnsNothing(description: string) {
  return applyDecorators(HttpCode(HttpStatus.NO_CONTENT), ApiNoContentResponse({ description }));
}
