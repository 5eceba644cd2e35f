import type { Application } from '@feathersjs/feathers'
import { nothing } from '@stoa/core/schema/types'
import type { Deps } from '../../deps.js'
import { loadSessionWorktree } from '../../hooks/load-session-worktree.js'
import { nestedPipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { takeBody } from '../../hooks/take-body.js'
import { takeRouteId } from '../../hooks/take-route-id.js'
import { SessionClearsClass } from './session-clears.class.js'

export function sessionClears(app: Application, deps: Deps): void {
  registerService(app, 'sessions/:session_id/clear', new SessionClearsClass(deps), {
    service: 'session-clears',
    methods: ['create'],
    hooks: nestedPipeline(deps, 'session-clears', [
      takeRouteId('session_id'),
      takeBody(nothing),
      loadSessionWorktree(deps, 'session')
    ])
  })
}
