import type { Application } from '@feathersjs/feathers'
import type { Deps } from '../deps.js'
import { apiKeys } from './api-keys/api-keys.js'
import { authentication } from './authentication/authentication.js'
import { grants } from './grants/grants.js'
import { journal } from './journal/journal.js'
import { messageRevisions } from './message-revisions/message-revisions.js'
import { messages } from './messages/messages.js'
import { sessions } from './sessions/sessions.js'
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
  tasks(app, deps)
  taskTokens(app, deps)
  messages(app, deps)
  messageRevisions(app, deps)
  journal(app, deps)
}
