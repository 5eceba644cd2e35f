import type { Application } from '@feathersjs/feathers'
import { eventsQuery } from '@stoa/core/schema/tasks'
import type { Deps } from '../../deps.js'
import { loadSessionWorktree } from '../../hooks/load-session-worktree.js'
import { nestedPipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { takeQuery } from '../../hooks/take-body.js'
import { takeRouteId } from '../../hooks/take-route-id.js'
import { TaskEventsClass } from './task-events.class.js'

export function taskEvents(app: Application, deps: Deps): void {
  registerService(app, 'tasks/:task_id/events', new TaskEventsClass(deps), {
    service: 'task-events',
    methods: ['find'],
    hooks: nestedPipeline(deps, 'task-events', [
      takeRouteId('task_id'),
      takeQuery(eventsQuery),
      loadSessionWorktree(deps, 'task')
    ])
  })
}
