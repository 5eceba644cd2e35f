import { exportFileName, markdownHead, markdownMessage } from '@stoa/core/domain/transcript-markdown'
import type { EXPORT_FORMATS, Session } from '@stoa/core/schema/sessions'
import type { Message } from '@stoa/core/schema/messages'
import type { Row } from '../../db/database.js'
import { readTranscript } from '../../db/queries/read-context.js'
import { publicRecord, tables } from '../../db/tables.js'
import type { Deps } from '../../deps.js'
import { accessOf, type Access, type StoaParams } from '../../hooks/access.js'

export interface Exported {
  filename: string
  media_type: string
  chunks: AsyncIterable<string>
}

/** The whole transcript as one file, written while it is read: its size does not matter. */
export class SessionExportsClass {
  constructor(private readonly deps: Deps) {}

  async find(params: StoaParams): Promise<Exported> {
    const access = accessOf(params)
    const session = publicRecord(tables.sessions, access.loaded!.record!) as unknown as Session
    const { format = 'json' } = (params.query ?? {}) as { format?: (typeof EXPORT_FORMATS)[number] }
    const pages = this.pages(session, access)
    return {
      filename: exportFileName(session, format),
      ...(format === 'json'
        ? { media_type: 'application/json', chunks: asJson(session, this.deps.now().toISOString(), pages) }
        : { media_type: 'text/markdown; charset=utf-8', chunks: asMarkdown(session, pages) })
    }
  }

  /** Up to the last message there was when it was asked for, and only while the reader may still read it. */
  private async *pages({ session_id, last_seq }: Session, access: Access): AsyncIterable<Row[]> {
    for await (const page of readTranscript(this.deps.db, session_id, last_seq)) {
      await access.renew()
      yield page
    }
    await access.renew()
  }
}

async function* asJson(session: Session, exported_at: string, pages: AsyncIterable<Row[]>): AsyncIterable<string> {
  const head = JSON.stringify({ format: 'stoa.session/1', exported_at, session })
  yield `${head.slice(0, -1)},"messages":[`
  let separator = '\n'
  for await (const page of pages) {
    for (const message of page) {
      yield separator + JSON.stringify(message)
      separator = ',\n'
    }
  }
  yield '\n]}\n'
}

async function* asMarkdown(session: Session, pages: AsyncIterable<Row[]>): AsyncIterable<string> {
  yield markdownHead(session)
  for await (const page of pages) for (const row of page) yield markdownMessage(row as unknown as Message)
}
