import type { Application } from '@feathersjs/feathers'
import { forking } from '@stoa/core/schema/sessions'
import type { Deps } from '../../deps.js'
import { loadSessionWorktree } from '../../hooks/load-session-worktree.js'
import { nestedPipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { takeBody } from '../../hooks/take-body.js'
import { takeRouteId } from '../../hooks/take-route-id.js'
import { SessionForksClass } from './session-forks.class.js'

export function sessionForks(app: Application, deps: Deps): void {
  registerService(app, 'sessions/:session_id/fork', new SessionForksClass(deps), {
    service: 'session-forks',
    methods: ['create'],
    hooks: nestedPipeline(deps, 'session-forks', [
      takeRouteId('session_id'),
      takeBody(forking),
      loadSessionWorktree(deps, 'session')
    ])
  })
}
