import { Type, type Static } from '@sinclair/typebox'
import { TASK_STATUSES } from '../domain/task-state.js'
import { PAGE, defineSchema } from './service-schema.js'
import { closed, id, jsonObject, line, nullable, oneOf, stamps, time, version } from './types.js'

const sha = nullable(Type.String({ pattern: '^[0-9a-f]{40,64}$' }))

const gitState = Type.Partial(
  Type.Object({
    ref: nullable(line(400)),
    sha_at_start: sha,
    sha_at_end: sha,
    dirty: nullable(Type.Boolean()),
    commit_message: nullable(Type.String({ maxLength: 10_000 }))
  }),
  closed
)

const taskError = Type.Object({ code: line(100), message: Type.String({ maxLength: 10_000 }) }, closed)

/** What whoever runs the task reports. Times and the queue are the daemon's own. */
const report = {
  status: oneOf(TASK_STATUSES),
  effective_model: nullable(line(200)),
  observed_model: nullable(line(200)),
  git_state: nullable(gitState),
  usage: nullable(jsonObject()),
  exit_code: nullable(Type.Integer({ minimum: -2147483648, maximum: 2147483647 })),
  error: nullable(taskError),
  because: nullable(Type.String({ maxLength: 2000 }))
}

export const taskSchema = defineSchema({
  name: 'tasks',
  id: 'task_id',
  record: Type.Object({
    task_id: id(),
    session_id: id(),
    client_task_id: nullable(line(200)),
    prompt: Type.String(),
    agent: nullable(line(200)),
    requested_model: nullable(line(200)),
    ...report,
    config: nullable(
      Type.Object(
        { settings: jsonObject(), tools: nullable(Type.Array(Type.String())) },
        { description: 'Of the session, as it was when the task was made.' }
      )
    ),
    queue_position: nullable(Type.Integer({ minimum: 1 })),
    attempt: Type.Integer({ minimum: 0 }),
    executor_id: nullable(id()),
    started_at: nullable(time()),
    completed_at: nullable(time()),
    version: version(),
    ...stamps
  }),
  create: Type.Object(
    {
      session_id: id(),
      prompt: Type.String({ minLength: 1, maxLength: 1_000_000 }),
      agent: Type.Optional(nullable(line(200))),
      requested_model: Type.Optional(nullable(line(200))),
      client_task_id: Type.Optional(line(200))
    },
    closed
  ),
  patch: Type.Partial(Type.Object(report), closed),
  filters: [
    'task_id',
    'session_id',
    'client_task_id',
    'status',
    'agent',
    'created_at',
    'created_by',
    'started_at',
    'completed_at',
    'updated_at'
  ],
  parents: ['session_id', 'worktree_id']
})

/** The events of a task are paged and asked for nothing else. */
export const eventsQuery = Type.Object(
  {
    $limit: Type.Optional(Type.Integer({ minimum: 0, maximum: PAGE.max, default: PAGE.default })),
    $skip: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000_000 }))
  },
  closed
)

export type Task = Static<typeof taskSchema.record>
export type TaskCreate = Static<typeof taskSchema.create>
export type TaskPatch = Static<typeof taskSchema.patch>
