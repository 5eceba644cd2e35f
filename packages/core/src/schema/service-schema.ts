import type { TObject } from '@sinclair/typebox'

/** How many records a page of `find` has, unless told, and at most. */
export const PAGE = { default: 50, max: 200 } as const

/**
 * What one service takes and gives. The daemon validates with it, the OpenAPI document is made of it.
 * A field of the record that is not in `patch` is immutable; a field that is in neither is unknown.
 */
export interface ServiceSchema {
  name: string
  id: string
  record: TObject
  create?: TObject
  patch?: TObject
  /** Fields that `find` may filter and sort by. */
  filters: readonly string[]
  /** Parents that a caller may name; they are checked against the stored row, never believed. */
  parents: readonly string[]
}

export function defineSchema<const S extends ServiceSchema>(schema: S): S {
  return schema
}
