import { completeCut } from '@stoa/core/domain/turns'
import { decide } from '@stoa/core/policy/decide'
import type { Forking } from '@stoa/core/schema/sessions'
import type { Row } from '../../db/database.js'
import { forkSession, lastUpTo } from '../../db/queries/fork-session.js'
import { loadAccess } from '../../db/queries/load-access.js'
import { openTurn, toolsAfter, turnsAfter, turnsUpTo } from '../../db/queries/read-turns.js'
import { tables } from '../../db/tables.js'
import { Sql } from '../../db/write.js'
import type { Deps } from '../../deps.js'
import { accessOf, type Access, type StoaParams } from '../../hooks/access.js'
import { stillAllowed } from '../../hooks/commit-unit.js'
import { refuse } from '../../hooks/authorize.js'
import { targetOf } from '../../hooks/load-into.js'
import { RecordClass } from '../record-class.js'

/** How many messages are looked at first for the end of a turn; four times as many whenever that is too few. */
const WINDOW = 100

/** How far behind the cut the result of a tool is looked for. */
const AHEAD = 1000

/** A new session that begins as another one began. Everything is read from the database: nothing of a session is kept in memory. */
export class SessionForksClass extends RecordClass {
  constructor(deps: Deps) {
    super(deps, tables.sessions)
  }

  async create({ at_seq, title, worktree_id }: Forking, params: StoaParams): Promise<Row> {
    const access = accessOf(params)
    const session_id = this.deps.newId()
    return await this.write(params, async () => {
      const source = access.loaded!.record!
      const source_id = source['session_id'] as string
      const elsewhere =
        worktree_id && worktree_id !== source['worktree_id'] ? await this.requireTarget(access, worktree_id) : null
      const cutAt = await this.findCut(source, Math.min(at_seq, source['last_seq'] as number))
      const cut = await lastUpTo(this.deps.db, source_id, cutAt)
      const { agent, model, settings, tools } = source
      const session = {
        session_id,
        worktree_id: worktree_id ?? source['worktree_id'],
        title: title === undefined ? forkTitle(source['title'] as string | null) : title,
        ...{ agent, model, settings, tools },
        forked_from: { session_id: source_id, seq: cut },
        ...this.stamps(access)
      }
      const allowed = [stillAllowed(this.deps, access), ...(elsewhere ? [this.stillOpen(elsewhere)] : [])]
      const effect = { change: 'created', fields: access.fields, from: source_id } as const
      return {
        steps: forkSession(
          this.deps.db.dialect,
          { source_id, cut, session, first_message_id: this.deps.newId(), now: session.created_at },
          allowed
        ),
        entries: [
          this.allow(elsewhere ?? access, effect, { resource_id: session_id, session_id }),
          // What was copied out of a worktree is in its own journal too.
          ...(elsewhere ? [this.allow(access, { change: 'read' })] : [])
        ],
        large: true
      }
    })
  }

  /** A fork may go to another worktree where the caller may create sessions: the request as it is seen from there. */
  private async requireTarget(access: Access, worktreeId: string): Promise<Access> {
    const loaded = await loadAccess(this.deps.db, 'worktree', access.who!.credential.id, worktreeId)
    const target = targetOf('worktree', loaded)
    const decision = decide(access.who!.actor, 'sessions.create', target, { fields: [], reason: false })
    if (!decision.allowed) {
      access.decision = decision
      access.claims.push({ field: 'worktree_id', value: worktreeId, from: 'data' })
      throw refuse(decision)
    }
    return { ...access, loaded, target, decision }
  }

  private stillOpen({ loaded }: Access): Sql {
    return new Sql(
      `EXISTS (SELECT 1 FROM worktrees ft WHERE ft.worktree_id = ? AND ft.access_version = ?${this.deps.db.dialect.holdRows('ft')})`,
      loaded!.worktree!['worktree_id'] as string,
      loaded!.worktree!['access_version'] as number
    )
  }

  /** Never between a tool's call and its result; while the source is running, only at the end of a complete turn. */
  private async findCut(source: Row, atSeq: number): Promise<number> {
    const { db } = this.deps
    const session_id = source['session_id'] as string
    const running = source['status'] === 'running'
    const next = await turnsAfter(db, session_id, atSeq, 1)
    const following = [...next, ...(next[0] ? await toolsAfter(db, session_id, next[0].seq, AHEAD) : [])]
    const openFrom = running ? await openTurn(db, session_id) : null
    for (let size = WINDOW; ; size *= 4) {
      const rows = await turnsUpTo(db, session_id, atSeq, size)
      const cut = completeCut(rows, { running, following, openFrom, fromStart: rows.length < size })
      // A boundary right behind the last turn that is kept belongs to what is kept.
      if (cut !== null) return cut === rows.at(-1)?.seq ? atSeq : cut
    }
  }
}

function forkTitle(title: string | null): string | null {
  return title === null ? null : `${[...title].slice(0, 490).join('')} (fork)`
}
