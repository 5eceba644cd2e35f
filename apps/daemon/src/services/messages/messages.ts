import type { Application } from '@feathersjs/feathers'
import { Type } from '@sinclair/typebox'
import { MAX_BATCH, messageSchema } from '@stoa/core/schema/messages'
import type { Deps } from '../../deps.js'
import { loadSessionWorktree } from '../../hooks/load-session-worktree.js'
import { pipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { MessagesClass } from './messages.class.js'

const seq = Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))

export function messages(app: Application, deps: Deps): void {
  registerService(app, 'messages', new MessagesClass(deps), {
    service: 'messages',
    methods: ['find', 'get', 'create', 'patch', 'remove'],
    hooks: pipeline(deps, {
      service: 'messages',
      schema: messageSchema,
      batch: MAX_BATCH,
      findExtra: { after_seq: seq, before_seq: seq },
      load: loadSessionWorktree(deps, 'message')
    })
  })
}
