import { Type, type Static } from '@sinclair/typebox'
import { closed, id, jsonObject, line } from './types.js'

/** How long an executor may wait for a task in one request. */
export const MAX_WAIT_S = 30

export const leasing = Type.Object(
  {
    executor: Type.Object(
      {
        name: line(200),
        host: line(255),
        pid: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }),
        agents: Type.Array(line(200), { maxItems: 100, description: 'The agents that it can run.' }),
        version: line(100)
      },
      closed
    ),
    wait_s: Type.Optional(Type.Number({ minimum: 0, maximum: MAX_WAIT_S }))
  },
  closed
)

export const renewal = Type.Object({ progress: Type.Optional(jsonObject()) }, closed)

/** What a renewal answers. */
export const renewed = Type.Object({
  lease_id: id(),
  task_id: id(),
  expires_at: Type.String({ format: 'date-time' }),
  stop_requested: Type.Boolean()
})

export type Leasing = Static<typeof leasing>
export type Renewal = Static<typeof renewal>
export type Renewed = Static<typeof renewed>
