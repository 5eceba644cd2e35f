import { Type } from '@sinclair/typebox'

const text = (maxLength: number) => Type.String({ minLength: 1, maxLength })
const strategy = <T extends string>(...names: T[]) => Type.Unsafe<T>({ type: 'string', enum: names })
const closed = { additionalProperties: false }

/** What signing in takes, by strategy. The last is how a Feathers client shows a token it already has. */
export const signInSchemas = {
  local: Type.Object({ strategy: strategy('local'), email: text(254), password: text(256) }, closed),
  'one-time': Type.Object({ strategy: strategy('one-time'), token: text(200) }, closed),
  bearer: Type.Object({ strategy: strategy('jwt', 'api-key', 'task-token'), accessToken: text(4096) }, closed)
}
