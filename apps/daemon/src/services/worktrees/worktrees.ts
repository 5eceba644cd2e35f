import type { Application } from '@feathersjs/feathers'
import { worktreeSchema } from '@stoa/core/schema/worktrees'
import type { Deps } from '../../deps.js'
import { loadRecord } from '../../hooks/load-record.js'
import { pipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { WorktreesClass } from './worktrees.class.js'

export function worktrees(app: Application, deps: Deps): void {
  registerService(app, 'worktrees', new WorktreesClass(deps), {
    service: 'worktrees',
    methods: ['find', 'get', 'create', 'patch', 'remove'],
    hooks: pipeline(deps, { service: 'worktrees', schema: worktreeSchema, load: loadRecord(deps, { type: 'worktree' }) })
  })
}
