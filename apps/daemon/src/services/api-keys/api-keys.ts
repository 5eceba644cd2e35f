import type { Application } from '@feathersjs/feathers'
import { apiKeySchema } from '@stoa/core/schema/api-keys'
import type { Deps } from '../../deps.js'
import { loadRecord } from '../../hooks/load-record.js'
import { pipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { ApiKeysClass } from './api-keys.class.js'

export function apiKeys(app: Application, deps: Deps): void {
  const load = loadRecord(deps, {
    type: 'api_key',
    created: (target, access) => ({ ...target, type: 'api_key', user_id: access.who!.actor.user_id })
  })
  registerService(app, 'api-keys', new ApiKeysClass(deps), {
    service: 'api-keys',
    methods: ['find', 'get', 'create', 'remove'],
    hooks: pipeline(deps, { service: 'api-keys', schema: apiKeySchema, load })
  })
}
