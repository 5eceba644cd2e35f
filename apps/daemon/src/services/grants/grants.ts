import type { Application } from '@feathersjs/feathers'
import { grantSchema } from '@stoa/core/schema/grants'
import type { Deps } from '../../deps.js'
import { loadRecord } from '../../hooks/load-record.js'
import { pipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { GrantsClass } from './grants.class.js'

export function grants(app: Application, deps: Deps): void {
  const load = loadRecord(deps, {
    type: 'grant',
    parent: { type: 'worktree', field: 'worktree_id' },
    created: (target, _access, data) => ({ ...target, type: 'grant', user_id: data['user_id'] as string })
  })
  registerService(app, 'grants', new GrantsClass(deps), {
    service: 'grants',
    methods: ['find', 'get', 'create', 'patch', 'remove'],
    hooks: pipeline(deps, { service: 'grants', schema: grantSchema, load })
  })
}
