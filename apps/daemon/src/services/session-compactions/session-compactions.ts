import type { Application } from '@feathersjs/feathers'
import { compaction } from '@stoa/core/schema/sessions'
import type { Deps } from '../../deps.js'
import { loadSessionWorktree } from '../../hooks/load-session-worktree.js'
import { nestedPipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { takeBody } from '../../hooks/take-body.js'
import { takeRouteId } from '../../hooks/take-route-id.js'
import { SessionCompactionsClass } from './session-compactions.class.js'

export function sessionCompactions(app: Application, deps: Deps): void {
  registerService(app, 'sessions/:session_id/compact', new SessionCompactionsClass(deps), {
    service: 'session-compactions',
    methods: ['create'],
    hooks: nestedPipeline(deps, 'session-compactions', [
      takeRouteId('session_id'),
      takeBody(compaction),
      loadSessionWorktree(deps, 'session')
    ])
  })
}
