import type { Application } from '@feathersjs/feathers'
import { truncation } from '@stoa/core/schema/sessions'
import type { Deps } from '../../deps.js'
import { loadSessionWorktree } from '../../hooks/load-session-worktree.js'
import { nestedPipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { takeBody } from '../../hooks/take-body.js'
import { takeRouteId } from '../../hooks/take-route-id.js'
import { SessionTruncationsClass } from './session-truncations.class.js'

export function sessionTruncations(app: Application, deps: Deps): void {
  registerService(app, 'sessions/:session_id/truncate', new SessionTruncationsClass(deps), {
    service: 'session-truncations',
    methods: ['create'],
    hooks: nestedPipeline(deps, 'session-truncations', [
      takeRouteId('session_id'),
      takeBody(truncation),
      loadSessionWorktree(deps, 'session')
    ])
  })
}
