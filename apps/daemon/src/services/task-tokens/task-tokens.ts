import type { Application } from '@feathersjs/feathers'
import { nothing } from '@stoa/core/schema/types'
import type { Deps } from '../../deps.js'
import { loadSessionWorktree } from '../../hooks/load-session-worktree.js'
import { nestedPipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { takeBody } from '../../hooks/take-body.js'
import { takeRouteId } from '../../hooks/take-route-id.js'
import { TaskTokensClass } from './task-tokens.class.js'

export function taskTokens(app: Application, deps: Deps): void {
  registerService(app, 'tasks/:task_id/token', new TaskTokensClass(deps), {
    service: 'task-tokens',
    methods: ['create'],
    hooks: nestedPipeline(deps, 'task-tokens', [takeRouteId('task_id'), takeBody(nothing), loadSessionWorktree(deps, 'task')])
  })
}
