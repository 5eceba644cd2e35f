import type { Application } from '@feathersjs/feathers'
import { sessionSchema } from '@stoa/core/schema/sessions'
import type { Deps } from '../../deps.js'
import { loadSessionWorktree } from '../../hooks/load-session-worktree.js'
import { pipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { SessionsClass } from './sessions.class.js'

export function sessions(app: Application, deps: Deps): void {
  registerService(app, 'sessions', new SessionsClass(deps), {
    service: 'sessions',
    methods: ['find', 'get', 'create', 'patch', 'remove'],
    hooks: pipeline(deps, { service: 'sessions', schema: sessionSchema, load: loadSessionWorktree(deps, 'session') })
  })
}
