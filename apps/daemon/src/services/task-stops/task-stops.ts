import type { Application } from '@feathersjs/feathers'
import { nothing } from '@stoa/core/schema/types'
import type { Deps } from '../../deps.js'
import { loadSessionWorktree } from '../../hooks/load-session-worktree.js'
import { nestedPipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { takeBody } from '../../hooks/take-body.js'
import { takeRouteId } from '../../hooks/take-route-id.js'
import { TaskStopsClass } from './task-stops.class.js'

export function taskStops(app: Application, deps: Deps): void {
  registerService(app, 'tasks/:task_id/stop', new TaskStopsClass(deps), {
    service: 'task-stops',
    methods: ['create'],
    hooks: nestedPipeline(deps, 'task-stops', [takeRouteId('task_id'), takeBody(nothing), loadSessionWorktree(deps, 'task')])
  })
}
