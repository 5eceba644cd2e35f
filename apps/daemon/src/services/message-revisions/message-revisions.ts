import type { Application } from '@feathersjs/feathers'
import { messageRevisionSchema } from '@stoa/core/schema/messages'
import type { Deps } from '../../deps.js'
import { loadSessionWorktree } from '../../hooks/load-session-worktree.js'
import { nestedPipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { takeRouteId } from '../../hooks/take-route-id.js'
import { validate } from '../../hooks/validate.js'
import { MessageRevisionsClass } from './message-revisions.class.js'

export function messageRevisions(app: Application, deps: Deps): void {
  registerService(app, 'messages/:message_id/revisions', new MessageRevisionsClass(deps), {
    service: 'message-revisions',
    methods: ['find'],
    hooks: nestedPipeline(deps, 'message-revisions', [
      validate({ schema: messageRevisionSchema }),
      takeRouteId('message_id'),
      loadSessionWorktree(deps, 'message')
    ])
  })
}
