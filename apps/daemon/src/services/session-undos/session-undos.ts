import type { Application } from '@feathersjs/feathers'
import { undoing } from '@stoa/core/schema/sessions'
import type { Deps } from '../../deps.js'
import { loadSessionWorktree } from '../../hooks/load-session-worktree.js'
import { nestedPipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { takeBody } from '../../hooks/take-body.js'
import { takeRouteId } from '../../hooks/take-route-id.js'
import { SessionUndosClass } from './session-undos.class.js'

export function sessionUndos(app: Application, deps: Deps): void {
  registerService(app, 'sessions/:session_id/undo', new SessionUndosClass(deps), {
    service: 'session-undos',
    methods: ['create'],
    hooks: nestedPipeline(deps, 'session-undos', [
      takeRouteId('session_id'),
      takeBody(undoing),
      loadSessionWorktree(deps, 'session')
    ])
  })
}
