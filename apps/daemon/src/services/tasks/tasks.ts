import type { Application } from '@feathersjs/feathers'
import { taskSchema } from '@stoa/core/schema/tasks'
import type { Deps } from '../../deps.js'
import { loadSessionWorktree } from '../../hooks/load-session-worktree.js'
import { pipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { TasksClass } from './tasks.class.js'

export function tasks(app: Application, deps: Deps): void {
  registerService(app, 'tasks', new TasksClass(deps), {
    service: 'tasks',
    methods: ['find', 'get', 'create', 'patch', 'remove'],
    hooks: pipeline(deps, { service: 'tasks', schema: taskSchema, load: loadSessionWorktree(deps, 'task') })
  })
}
