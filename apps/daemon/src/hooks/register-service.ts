import type { Application, AroundHookFunction, ServiceInterface } from '@feathersjs/feathers'

export interface Registration {
  /** The name in the policy. */
  service: string
  methods: readonly string[]
  hooks: { around: Record<string, AroundHookFunction[]> }
}

/** What was registered on an app, by path: the boot check compares it with what can be reached. */
const registrations = new WeakMap<Application, Map<string, Registration>>()

export function registerService(app: Application, path: string, service: object, registration: Registration): void {
  app.use(path, service as ServiceInterface, { methods: [...registration.methods] })
  const known = new Set(registration.methods)
  const hooks = Object.fromEntries(Object.entries(registration.hooks.around).filter(([method]) => known.has(method)))
  app.service(path).hooks({ around: hooks })
  registered(app).set(path, registration)
}

export function registered(app: Application): Map<string, Registration> {
  const known = registrations.get(app) ?? new Map<string, Registration>()
  registrations.set(app, known)
  return known
}
