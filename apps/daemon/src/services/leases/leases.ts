import type { Application, NextFunction } from '@feathersjs/feathers'
import { leasing, renewal } from '@stoa/core/schema/leases'
import type { Deps } from '../../deps.js'
import type { Context } from '../../hooks/access.js'
import { loadRecord } from '../../hooks/load-record.js'
import { nestedPipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { takeBody } from '../../hooks/take-body.js'
import { takeId } from '../../hooks/take-route-id.js'
import { LeasesClass } from './leases.class.js'

export function leases(app: Application, deps: Deps): void {
  const { create } = nestedPipeline(deps, 'leases', [noContent, takeBody(leasing), loadRecord(deps, { type: 'daemon' })]).around
  const { patch } = nestedPipeline(deps, 'leases', [takeId, takeBody(renewal), loadRecord(deps, { type: 'lease' })]).around
  registerService(app, 'leases', new LeasesClass(deps), {
    service: 'leases',
    methods: ['create', 'patch'],
    hooks: { around: { create: create!, patch: patch! } }
  })
}

/** No task is an answer too. */
async function noContent(context: Context, next: NextFunction): Promise<void> {
  await next()
  if (context.result === null) context.http = { status: 204 }
}
