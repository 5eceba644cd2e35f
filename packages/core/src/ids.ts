/** Ids are UUIDv7 text in canonical lower case. Anything else is not an id, so nothing else can ever name a record. */
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

export const ID_PATTERN = ID.source

declare const brand: unique symbol
export type Id<Kind extends string = string> = string & { readonly [brand]?: Kind }

export type UserId = Id<'user'>
export type WorktreeId = Id<'worktree'>
export type SessionId = Id<'session'>
export type TaskId = Id<'task'>

export function isId(value: unknown): value is Id {
  return typeof value === 'string' && ID.test(value)
}
