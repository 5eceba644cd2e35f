import type { Content, Message } from '../schema/messages.js'
import { isRecord } from './media-blocks.js'

export interface TurnRow {
  seq: number
  role: Message['role']
  content: Content
}

/** Of a message, what a cut has to know: which tools it calls, and which it answers. */
export function toolBlocks(content: Content): { type: string; id?: string; tool_use_id?: string }[] {
  return blocksOf(content).flatMap(({ type, id, tool_use_id }) => {
    if (type === 'tool_use') return typeof id === 'string' ? [{ type, id: id.slice(0, MAX_ID) }] : []
    if (type !== 'tool_result') return []
    return typeof tool_use_id === 'string' ? [{ type, tool_use_id: tool_use_id.slice(0, MAX_ID) }] : [{ type }]
  })
}

const MAX_ID = 200

export interface CutOptions {
  /** A turn is being answered: the cut has to be the end of a complete one. */
  running: boolean
  /** The live row right after `rows`, and of those behind it all that may have the result of a tool. */
  following: readonly TurnRow[]
  /** Where the turn that is being answered starts. */
  openFrom: number | null
  /** `rows` begin where the transcript does. */
  fromStart: boolean
}

/**
 * The seq of the last row to keep, so that what is kept has complete turns; 0 keeps none. `rows` are the end of the live
 * transcript up to the wanted cut. null: further back than these rows reach, ask with more of them.
 *
 * A tool_use that nobody answered before the next prompt was interrupted. It does not hold back the cuts after that prompt:
 * else one interruption would make all that follows impossible to fork.
 */
export function completeCut(rows: readonly TurnRow[], options: CutOptions): number | null {
  const { running, following, fromStart } = options
  const openFrom = running && options.openFrom !== null ? options.openFrom : Infinity
  const known = [...rows, ...following]
  const { pairs, unanswered, strays } = linkTools(known)
  const parted = partedBefore(known.length, [...pairs, ...untilPrompt(known, unanswered)])
  // What an earlier tool_use still waits for is told by the prompt before the cut; a result without its tool_use came from earlier.
  const firstPrompt = known.findIndex(isPrompt)
  const tellable = fromStart ? 0 : Math.max(firstPrompt < 0 ? Infinity : firstPrompt + 1, (strays.at(-1) ?? -1) + 1)
  for (let end = rows.length; end > 0; end--) {
    const last = rows[end - 1]!
    const after = known[end]
    if (last.seq >= openFrom || after?.role === 'tool') continue
    const endsTurn = after === undefined || after.seq >= openFrom || isPrompt(after)
    if (running && !endsTurn) continue
    if (end < tellable) return null
    if (parted[end] === 0) return last.seq
  }
  return fromStart ? 0 : null
}

/**
 * The largest b ≤ `boundary` such that no tool_use up to b has its tool_result after b, or still waits for it, and what follows
 * b does not begin with the answer of a tool. 0 when the rows begin with one: then no boundary among them is good.
 */
export function boundaryBefore(rows: readonly TurnRow[], boundary: number): number {
  const { pairs, repeats, unanswered } = linkTools(rows)
  const parted = partedBefore(rows.length, [...pairs, ...repeats, ...untilPrompt(rows, unanswered)])
  const behind = rows.findIndex(({ seq }) => seq > boundary)
  const wanted = behind < 0 ? rows.length : behind
  for (let end = wanted; end >= 0; end--) {
    if (parted[end] !== 0 || rows[end]?.role === 'tool') continue
    return end === wanted ? boundary : rows[end]!.seq - 1
  }
  return 0
}

/** A result among these rows whose tool_use is not: it was called before them. */
export function isCalledBefore(rows: readonly TurnRow[]): boolean {
  return linkTools(rows).strays.length > 0
}

interface Pair {
  use: number
  result: number
}

interface Links {
  /** A tool_use with its first result, by index of their rows. */
  pairs: Pair[]
  /** With a result that was given once more. */
  repeats: Pair[]
  unanswered: number[]
  /** Results without a tool_use among the rows. */
  strays: number[]
}

/** A result belongs to the newest tool_use of its id, for some models number them anew in each turn. */
function linkTools(rows: readonly TurnRow[]): Links {
  const uses: { row: number; isAnswered: boolean }[] = []
  const newest = new Map<string, (typeof uses)[number]>()
  const links: Links = { pairs: [], repeats: [], unanswered: [], strays: [] }
  rows.forEach(({ content }, row) => {
    for (const block of blocksOf(content)) {
      if (block.type === 'tool_use' && typeof block.id === 'string' && newest.get(block.id)?.row !== row) {
        const use = { row, isAnswered: false }
        uses.push(use)
        newest.set(block.id, use)
      }
      if (block.type !== 'tool_result' || typeof block.tool_use_id !== 'string') continue
      const use = newest.get(block.tool_use_id)
      if (use === undefined) links.strays.push(row)
      else {
        links[use.isAnswered ? 'repeats' : 'pairs'].push({ use: use.row, result: row })
        use.isAnswered = true
      }
    }
  })
  links.unanswered = uses.filter(({ isAnswered }) => !isAnswered).map(({ row }) => row)
  return links
}

/** What nobody answered counts as waiting until somebody prompts again. */
function untilPrompt(rows: readonly TurnRow[], unanswered: readonly number[]): Pair[] {
  const waiting = [...unanswered]
  const pairs: Pair[] = []
  for (let row = rows.length - 1, prompt = rows.length; row >= 0; row--) {
    for (; waiting.at(-1) === row; waiting.pop()) pairs.push({ use: row, result: prompt })
    if (isPrompt(rows[row]!)) prompt = row
  }
  return pairs
}

/** For each index, how many pairs a cut right before that row would part. */
function partedBefore(count: number, pairs: readonly Pair[]): number[] {
  const change = new Array<number>(count + 2).fill(0)
  for (const { use, result } of pairs) {
    change[use + 1]!++
    change[result + 1]!--
  }
  let parted = 0
  return change.map((by) => (parted += by))
}

function isPrompt({ role, content }: TurnRow): boolean {
  return role === 'user' && !blocksOf(content).some(({ type }) => type === 'tool_result')
}

function blocksOf(content: Content): Record<string, unknown>[] {
  return Array.isArray(content) ? content.filter(isRecord) : []
}
