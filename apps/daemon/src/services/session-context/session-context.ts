import type { Application } from '@feathersjs/feathers'
import { contextQuery } from '@stoa/core/schema/sessions'
import type { Deps } from '../../deps.js'
import { loadSessionWorktree } from '../../hooks/load-session-worktree.js'
import { nestedPipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { takeQuery } from '../../hooks/take-body.js'
import { takeRouteId } from '../../hooks/take-route-id.js'
import { SessionContextClass } from './session-context.class.js'

export function sessionContext(app: Application, deps: Deps): void {
  registerService(app, 'sessions/:session_id/context', new SessionContextClass(deps), {
    service: 'session-context',
    methods: ['find'],
    hooks: nestedPipeline(deps, 'session-context', [
      takeRouteId('session_id'),
      takeQuery(contextQuery),
      loadSessionWorktree(deps, 'session')
    ])
  })
}
