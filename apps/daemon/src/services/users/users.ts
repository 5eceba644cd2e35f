import type { Application } from '@feathersjs/feathers'
import { userSchema } from '@stoa/core/schema/users'
import type { Deps } from '../../deps.js'
import { loadRecord } from '../../hooks/load-record.js'
import { pipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { UsersClass } from './users.class.js'

export function users(app: Application, deps: Deps): void {
  registerService(app, 'users', new UsersClass(deps), {
    service: 'users',
    methods: ['find', 'get', 'create', 'patch'],
    hooks: pipeline(deps, { service: 'users', schema: userSchema, load: loadRecord(deps, { type: 'user' }) })
  })
}
