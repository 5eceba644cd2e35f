import type { Application } from '@feathersjs/feathers'
import { sweeping } from '@stoa/core/schema/sweeps'
import type { Deps } from '../../deps.js'
import { loadRecord } from '../../hooks/load-record.js'
import { nestedPipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { takeBody } from '../../hooks/take-body.js'
import { SweepsClass } from './sweeps.class.js'

/** A run is of all that there is: what is decided on is the daemon itself. */
export function sweeps(app: Application, deps: Deps): void {
  registerService(app, 'sweeps', new SweepsClass(deps), {
    service: 'sweeps',
    methods: ['create'],
    hooks: nestedPipeline(deps, 'sweeps', [takeBody(sweeping), loadRecord(deps, { type: 'daemon' })])
  })
}
