import type { Application, NextFunction } from '@feathersjs/feathers'
import { Readable } from 'node:stream'
import { StoaError } from '@stoa/core/errors'
import { exportQuery } from '@stoa/core/schema/sessions'
import type { Deps } from '../../deps.js'
import { accessOf, type Context } from '../../hooks/access.js'
import { loadSessionWorktree } from '../../hooks/load-session-worktree.js'
import { nestedPipeline } from '../../hooks/pipeline.js'
import { registerService } from '../../hooks/register-service.js'
import { takeQuery } from '../../hooks/take-body.js'
import { takeRouteId } from '../../hooks/take-route-id.js'
import { SessionExportsClass, type Exported } from './session-exports.class.js'

export function sessionExports(app: Application, deps: Deps): void {
  registerService(app, 'sessions/:session_id/export', new SessionExportsClass(deps), {
    service: 'session-exports',
    methods: ['find'],
    hooks: nestedPipeline(deps, 'session-exports', [
      takeRouteId('session_id'),
      takeQuery(exportQuery),
      asFile,
      loadSessionWorktree(deps, 'session')
    ])
  })
}

/** What one answer on a socket may hold. */
const MAX_LENGTH = 32_000_000

/** Over HTTP the export is a download that is sent while it is read; a socket has no files, so there it is one text. */
async function asFile(context: Context, next: NextFunction): Promise<void> {
  await next()
  const { filename, media_type, chunks } = context.result as Exported
  if (accessOf(context.params).request.transport === 'rest') {
    context.http = { headers: { 'Content-Type': media_type, 'Content-Disposition': `attachment; filename="${filename}"` } }
    context.result = Readable.from(chunks)
  } else {
    const parts: string[] = []
    let length = 0
    for await (const chunk of chunks) {
      parts.push(chunk)
      length += chunk.length
      if (length > MAX_LENGTH)
        throw new StoaError('too_large', { message: 'This export is too large for a socket. Ask for it over HTTP.' })
    }
    context.result = { filename, media_type, content: parts.join('') }
  }
}
