import type { Application } from '@feathersjs/feathers'
import { nothing } from '@stoa/core/schema/types'
import type { Deps } from '../../deps.js'
import { loadSessionWorktree } from '../../hooks/load-session-worktree.js'
import { nestedPipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { takeBody } from '../../hooks/take-body.js'
import { takeRouteId } from '../../hooks/take-route-id.js'
import { MessageRestoresClass } from './message-restores.class.js'

export function messageRestores(app: Application, deps: Deps): void {
  registerService(app, 'messages/:message_id/restore', new MessageRestoresClass(deps), {
    service: 'message-restores',
    methods: ['create'],
    hooks: nestedPipeline(deps, 'message-restores', [
      takeRouteId('message_id'),
      takeBody(nothing),
      loadSessionWorktree(deps, 'removed_message')
    ])
  })
}
