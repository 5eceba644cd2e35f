import type { NextFunction } from '@feathersjs/feathers'
import type { TObject } from '@sinclair/typebox'
import { nothing } from '@stoa/core/schema/types'
import { accessOf, type Context } from './access.js'
import { refuseBrokenText, refuseHostile } from './refuse-hostile.js'
import { check, compileBody, compileQuery } from './validators.js'

const noQuery = compileQuery(nothing)

/** For services that do one thing to the record in their path: the body against its schema, and nothing in the query. */
export function takeBody(schema: TObject) {
  const body = compileBody(schema)
  return async (context: Context, next: NextFunction): Promise<void> => {
    const data = (context.data === undefined ? {} : context.data) as Record<string, unknown>
    refuseHostile(data)
    check(body, data)
    check(noQuery, context.params.query ?? {})
    refuseBrokenText(data)
    accessOf(context.params).fields = Object.keys(data)
    context.data = data
    await next()
  }
}

/** The same for what is only asked: the query against its schema. */
export function takeQuery(schema: TObject) {
  const asked = compileQuery(schema)
  return async (context: Context, next: NextFunction): Promise<void> => {
    const query = { ...context.params.query }
    refuseHostile(query)
    check(asked, query)
    context.params.query = query
    await next()
  }
}
