import type { Application } from '@feathersjs/feathers'
import { Type } from '@sinclair/typebox'
import type { Deps } from '../../deps.js'
import { loadInto } from '../../hooks/load-into.js'
import { accessOf, type Context } from '../../hooks/access.js'
import { nestedPipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { takeRouteId } from '../../hooks/take-route-id.js'
import { check, compileBody } from '../../hooks/validators.js'
import { TaskTokensClass } from './task-tokens.class.js'

export function taskTokens(app: Application, deps: Deps): void {
  registerService(app, 'tasks/:task_id/token', new TaskTokensClass(deps), {
    service: 'task-tokens',
    methods: ['create'],
    hooks: nestedPipeline(deps, 'task-tokens', [takeRouteId('task_id'), takeNothing, loadTask(deps)])
  })
}

const nothing = compileBody(Type.Object({}, { additionalProperties: false }))

/** All that is needed stands in the path. */
async function takeNothing(context: Context, next: () => Promise<void>): Promise<void> {
  check(nothing, context.data ?? {})
  check(nothing, context.params.query ?? {})
  await next()
}

/** The token is made for a task that exists, so the task itself is what is loaded, not a parent named in the data. */
function loadTask(deps: Deps) {
  return async (context: Context, next: () => Promise<void>): Promise<void> => {
    const access = accessOf(context.params)
    await loadInto(deps, access, 'task', access.resource_id)
    await next()
  }
}
