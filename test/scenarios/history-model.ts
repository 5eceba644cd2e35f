import { at, clientId, summarized, type Known, type Operation } from './history-operations.js'

/** A session as it has to be, in as few words as possible. */
export interface Model {
  last_seq: number
  rows: ModelRow[]
  /** One per token, in the order in which they were given; used ones are empty. */
  undos: (ModelRow[] | null)[]
}

export interface ModelRow {
  seq: number
  content: string | null
  boundary_seq: number | null
  client: string | null
  /** Not undefined: removed, by the undo that brings it back, or by hand. */
  removed?: ModelRow[] | 'by hand'
}

/** What has to be answered; `fields` only where the answer has them. */
export interface Expected {
  statuses: number[]
  fields?: Record<string, unknown>
  child?: Model
}

export const newModel = (): Model => ({ last_seq: 0, rows: [], undos: [] })
export const live = ({ rows }: Model): ModelRow[] => rows.filter(({ removed }) => removed === undefined)

/** The furthest of the boundaries that are still there. */
export const boundaryOf = (model: Model): number => Math.max(0, ...live(model).map(({ boundary_seq }) => boundary_seq ?? 0))

/** Does it to the model. `known.ids` are those of `rows`, in the same order. Null: there is nothing to do it to. */
export function applyToModel(model: Model, known: Known, operation: Operation): Expected | null {
  switch (operation.do) {
    case 'append':
      for (const content of operation.texts) write(model, { content })
      return { statuses: [201] }
    case 'repeat': {
      const client = clientId(operation.client)
      const first = model.rows.find((row) => row.client === client)
      if (!first) write(model, { content: `said by ${operation.client}`, client })
      // Sent again after it was removed: whichever it is answered, nothing is written.
      return { statuses: first ? (first.removed ? [200, 409] : [200]) : [201] }
    }
    case 'edit':
      return onRow(model, operation.pick, false, 200, (row) => (row.content = operation.text))
    case 'remove':
      return onRow(model, operation.pick, false, 200, (row) => (row.removed = 'by hand'))
    case 'restore':
      return onRow(model, operation.pick, true, 201, (row) => delete row.removed)
    case 'undo':
      return undo(model, known, operation.pick)
    case 'truncate':
      return cut(model, operation.keep, { kept: Math.min(operation.keep, live(model).length) })
    case 'clear':
      return cut(model, 0, {})
    case 'compact':
      return compact(model, operation)
    case 'fork':
      return { statuses: [201], child: fork(model, operation.at) }
    case 'delete':
      return { statuses: [200] }
  }
}

function write(model: Model, row: Partial<ModelRow>): void {
  model.last_seq += 1
  model.rows.push({ seq: model.last_seq, content: null, boundary_seq: null, client: null, ...row })
}

function onRow(model: Model, pick: number, removed: boolean, status: number, change: (row: ModelRow) => void): Expected | null {
  const row = at(model.rows, pick)
  if (!row) return null
  if ((row.removed !== undefined) !== removed) return { statuses: [404] }
  change(row)
  return { statuses: [status] }
}

function cut(model: Model, keep: number, fields: Record<string, unknown>): Expected {
  const cut = live(model).slice(keep)
  for (const row of cut) row.removed = cut
  if (cut.length) model.undos.push(cut)
  return { statuses: [201], fields: { ...fields, removed: cut.length } }
}

function undo(model: Model, known: Known, pick: number): Expected | null {
  if (known.tokens.length === 0) return null
  const index = pick % known.tokens.length
  const cut = model.undos[index]
  if (!cut) return { statuses: [404] }
  const back = cut.filter(({ removed }) => removed === cut)
  for (const row of back) delete row.removed
  model.undos[index] = null
  // All of it was restored by hand before: there is nothing to undo, and both say so.
  return back.length ? { statuses: [201], fields: { restored: back.length } } : { statuses: [201, 404] }
}

function compact(model: Model, { keep, behind, summary }: Operation & { do: 'compact' }): Expected {
  const until = behind > 0 ? summarized(model, behind) : model.last_seq
  const messages = live(model).filter(({ seq, boundary_seq }) => boundary_seq === null && seq <= until)
  const boundary = messages.at(-1 - keep)?.seq ?? 0
  const before = boundaryOf(model)
  if (!messages.some(({ seq }) => seq > before && seq <= boundary)) return { statuses: [409] }
  write(model, { content: summary, boundary_seq: boundary })
  return { statuses: [201], fields: { boundary_seq: boundary } }
}

function fork(model: Model, at_seq: number): Model {
  const copied = live(model).filter(({ seq }) => seq <= at_seq)
  const numberOf = (boundary: number) => copied.filter(({ seq }) => seq <= boundary).length
  const child = newModel()
  for (const { content, boundary_seq } of copied)
    write(child, { content, boundary_seq: (boundary_seq !== null && numberOf(boundary_seq)) || null })
  return child
}
