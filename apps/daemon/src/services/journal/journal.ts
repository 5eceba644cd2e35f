import type { Application } from '@feathersjs/feathers'
import { Type } from '@sinclair/typebox'
import { journalSchema } from '@stoa/core/schema/journal'
import type { Deps } from '../../deps.js'
import { loadRecord } from '../../hooks/load-record.js'
import { pipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { JournalClass } from './journal.class.js'

export function journal(app: Application, deps: Deps): void {
  registerService(app, 'journal', new JournalClass(deps), {
    service: 'journal',
    methods: ['find', 'get'],
    hooks: pipeline(deps, {
      service: 'journal',
      schema: journalSchema,
      findExtra: { after_seq: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })) },
      load: loadRecord(deps, { type: 'journal_entry' })
    })
  })
}
