import type { Application } from '@feathersjs/feathers'
import { removedMessageSchema } from '@stoa/core/schema/messages'
import type { Deps } from '../../deps.js'
import { loadSessionWorktree } from '../../hooks/load-session-worktree.js'
import { pipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { RemovedMessagesClass } from './removed-messages.class.js'

export function removedMessages(app: Application, deps: Deps): void {
  registerService(app, 'removed-messages', new RemovedMessagesClass(deps), {
    service: 'removed-messages',
    methods: ['find', 'get'],
    hooks: pipeline(deps, {
      service: 'removed-messages',
      schema: removedMessageSchema,
      load: loadSessionWorktree(deps, 'removed_message')
    })
  })
}
