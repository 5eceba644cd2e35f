import type { Application } from '@feathersjs/feathers'
import { StoaError } from '@stoa/core/errors'
import { signInSchemas } from '@stoa/core/schema/authentication'
import type { Deps } from '../../deps.js'
import { accessOf, type Context } from '../../hooks/access.js'
import { loadInto } from '../../hooks/load-into.js'
import { signInPipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { check, compileBody } from '../../hooks/validators.js'
import { AuthenticationClass } from './authentication.class.js'

export function authentication(app: Application, deps: Deps): void {
  const service = new AuthenticationClass(app, deps)
  registerService(app, 'authentication', service, {
    service: 'authentication',
    methods: ['create', 'remove'],
    hooks: signInPipeline(deps, checkSignIn, loadToken(deps))
  })
}

const validators = {
  local: compileBody(signInSchemas.local),
  'one-time': compileBody(signInSchemas['one-time']),
  bearer: compileBody(signInSchemas.bearer)
}

async function checkSignIn(context: Context, next: () => Promise<void>): Promise<void> {
  const strategy = (context.data as { strategy?: unknown } | undefined)?.strategy
  check(strategy === 'local' || strategy === 'one-time' ? validators[strategy] : validators.bearer, context.data)
  await next()
}

/** Signing out is about the token in the header. An id, when a client sends one, can only be that same token. */
function loadToken(deps: Deps) {
  return async (context: Context, next: () => Promise<void>): Promise<void> => {
    if (context.id !== null && context.id !== undefined && context.id !== context.params.authentication?.accessToken)
      throw new StoaError('invalid')
    const access = accessOf(context.params)
    await loadInto(deps, access, 'token', null, (target) => ({ ...target, exists: true, user_id: access.who!.actor.user_id }))
    await next()
  }
}
