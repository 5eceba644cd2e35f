import type { Application } from '@feathersjs/feathers'
import { MAX_BATCH, messageQuery, messageSchema } from '@stoa/core/schema/messages'
import type { Deps } from '../../deps.js'
import { loadSessionWorktree } from '../../hooks/load-session-worktree.js'
import { pipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { MessagesClass } from './messages.class.js'

export function messages(app: Application, deps: Deps): void {
  registerService(app, 'messages', new MessagesClass(deps), {
    service: 'messages',
    methods: ['find', 'get', 'create', 'patch', 'remove'],
    hooks: pipeline(deps, {
      service: 'messages',
      schema: messageSchema,
      batch: MAX_BATCH,
      findExtra: messageQuery,
      load: loadSessionWorktree(deps, 'message')
    })
  })
}
