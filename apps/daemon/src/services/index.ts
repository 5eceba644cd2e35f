import type { Application } from '@feathersjs/feathers'
import type { Deps } from '../deps.js'
import { apiKeys } from './api-keys/api-keys.js'
import { authentication } from './authentication/authentication.js'
import { grants } from './grants/grants.js'
import { journal } from './journal/journal.js'
import { leases } from './leases/leases.js'
import { messageRestores } from './message-restores/message-restores.js'
import { messageRevisions } from './message-revisions/message-revisions.js'
import { messages } from './messages/messages.js'
import { removedMessages } from './removed-messages/removed-messages.js'
import { sessionClears } from './session-clears/session-clears.js'
import { sessionCompactions } from './session-compactions/session-compactions.js'
import { sessionContext } from './session-context/session-context.js'
import { sessionExports } from './session-exports/session-exports.js'
import { sessionForks } from './session-forks/session-forks.js'
import { sessionTruncations } from './session-truncations/session-truncations.js'
import { sessionUndos } from './session-undos/session-undos.js'
import { sessions } from './sessions/sessions.js'
import { sweeps } from './sweeps/sweeps.js'
import { taskEvents } from './task-events/task-events.js'
import { taskStops } from './task-stops/task-stops.js'
import { taskTokens } from './task-tokens/task-tokens.js'
import { tasks } from './tasks/tasks.js'
import { users } from './users/users.js'
import { worktrees } from './worktrees/worktrees.js'

/** Everything that can be called, in the order of the contract. */
export function services(app: Application, deps: Deps): void {
  authentication(app, deps)
  apiKeys(app, deps)
  users(app, deps)
  worktrees(app, deps)
  grants(app, deps)
  sessions(app, deps)
  sessionForks(app, deps)
  sessionTruncations(app, deps)
  sessionClears(app, deps)
  sessionUndos(app, deps)
  sessionCompactions(app, deps)
  sessionContext(app, deps)
  sessionExports(app, deps)
  tasks(app, deps)
  taskTokens(app, deps)
  taskStops(app, deps)
  taskEvents(app, deps)
  leases(app, deps)
  messages(app, deps)
  messageRevisions(app, deps)
  messageRestores(app, deps)
  removedMessages(app, deps)
  journal(app, deps)
  sweeps(app, deps)
}
