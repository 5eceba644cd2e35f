import feathersModule, { type Application } from '@feathersjs/feathers'
import { policyOf } from '@stoa/core/policy/actions'
import { registered } from './register-service.js'

/** Feathers is CommonJS, and Node finds only some of its exports by name. */
const { getServiceOptions } = feathersModule

/** Deny by default, by enumeration: what can be reached but has no policy entry stops the start. */
export function checkCoverage(app: Application): void {
  for (const path of Object.keys(app.services)) {
    const registration = registered(app).get(path)
    if (!registration) throw new Error(`the service ${path} can be reached but has no policy: register it with registerService`)
    for (const method of getServiceOptions(app.service(path)).methods ?? []) requirePolicy(`${registration.service}.${method}`)
    for (const method of registration.methods) {
      if (!registration.hooks.around[method]?.length)
        throw new Error(`${registration.service}.${method} can be reached but has no pipeline before it`)
    }
  }
}

/** Once checked, nothing can be added: a route or a service that comes later would have passed no check. */
export function sealApp(app: Application): void {
  app.use = () => {
    throw new Error(
      'the app was checked against the policy and is sealed: register services in services/index.ts and routes in http/routes.ts'
    )
  }
}

export function requirePolicy(action: string): void {
  if (!policyOf(action))
    throw new Error(`${action} can be reached but has no policy entry: add it to packages/core/src/policy/actions.ts`)
}
