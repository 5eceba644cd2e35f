import { boundaryBefore, completeCut, type CutOptions, type TurnRow } from '@stoa/core/domain/turns'
import type { Content } from '@stoa/core/schema/messages'
import { expect } from 'chai'
import fc from 'fast-check'

/** 'u' a prompt, 'a' an answer, 's' a system row, 't' a row of a tool; '+x' uses tool x, '-x' gives its result. */
const rowsOf = (script: string): TurnRow[] =>
  script
    .split(' ')
    .filter(Boolean)
    .map((word, index) => rowOf(word, index + 1))
const cut = (script: string, options: Partial<CutOptions> = {}): number | null =>
  completeCut(rowsOf(script), { running: false, following: [], openFrom: null, fromStart: true, ...options })

describe('the cut of a transcript', () => {
  it('is the last row when no tool is waiting', () => {
    expect(['', 'u', 'u a', 'u a u', 'u a+1 u-1', 'u a+1 u-1 a', 's a'].map((script) => cut(script))).to.deep.equal([
      ...[0, 1, 2, 3, 3, 4, 2]
    ])
  })

  it('leaves no tool_use without its tool_result', () => {
    expect(cut('u a+1')).to.equal(1)
    expect(cut('u a+1+2 u-1')).to.equal(1)
    expect(cut('u a+1+2 u-1 t-2')).to.equal(4)
    expect(cut('u a+1 a+2 u-1')).to.equal(1)
    expect(cut('a+1 a')).to.equal(0)
    expect(cut('u a+1 u', { following: [rowOf('u-1', 4)] })).to.equal(1)
    expect(cut('u a+1-1 a')).to.equal(3)
  })

  it('knows a tool_use from an earlier one with the same id', () => {
    expect(cut('u a+1 u-1 u a+1 u-1')).to.equal(6)
    expect(cut('u a+1 u-1 u a+1')).to.equal(4)
  })

  it('is not held back by a tool that was interrupted by the next prompt', () => {
    expect(['u a+1 u', 'u a+1 u a', 'u a+1 u a+2'].map((script) => cut(script))).to.deep.equal([3, 4, 3])
  })

  it('is never right before the row of a tool', () => {
    expect(cut('u a', { following: [rowOf('t', 3)] })).to.equal(1)
    expect(cut('u a t', { following: [rowOf('t', 4)] })).to.equal(1)
    expect(cut('u a t t', { following: [rowOf('a', 5)] })).to.equal(4)
  })

  it('is the end of a turn while one is being answered, and before that one', () => {
    const running = { running: true }
    expect(cut('u a u a', { ...running, following: [rowOf('a', 5)] })).to.equal(2)
    expect(cut('u a u a', { ...running, following: [rowOf('u', 5)] })).to.equal(4)
    expect(cut('u a u a', { ...running, openFrom: 3 })).to.equal(2)
    expect(cut('u a+1 u-1 a u a', { ...running, openFrom: 5 })).to.equal(4)
    expect(cut('u a+1', { ...running, following: [rowOf('u-1', 3)] })).to.equal(0)
    expect(cut('u a', { ...running, openFrom: 1 })).to.equal(0)
    expect(cut('u a', { ...running, openFrom: 3 })).to.equal(2)
    expect(cut('u a u a', { openFrom: 3 })).to.equal(4)
  })

  it('asks for more rows only when the ones it has can not tell', () => {
    const more = { fromStart: false }
    expect(['', 'a', 'a+1 u-1', 'a a+1', 'a u', 'a u a', 'a u a+1'].map((script) => cut(script, more))).to.deep.equal([
      ...[null, null, null, null, 2, 3, 2]
    ])
    expect(cut('u a', { ...more, following: [rowOf('u-1', 3)] })).to.equal(null)
    expect(cut('a u a', { ...more, running: true, following: [rowOf('a', 4)] })).to.equal(null)
  })

  it('keeps pairs together in any transcript, and a window answers like the whole', () => {
    fc.assert(
      fc.property(scripts, fc.nat({ max: 20 }), fc.nat({ max: 20 }), fc.boolean(), (script, at, from, running) => {
        const all = rowsOf(script)
        const [rows, following] = [all.slice(0, at), all.slice(at, at + 1)]
        const options = { running, following, openFrom: null, fromStart: true }
        const seq = completeCut(rows, options)!
        expect(isParted(rows, seq)).to.equal(false)
        if (seq > 0) expect(all[seq]?.role).not.to.equal('tool')
        if (running && seq > 0) expect([undefined, 'user']).to.include(all[seq]?.role)
        expect(completeCut(rows.slice(from), { ...options, fromStart: from === 0 })).to.be.oneOf([seq, null])
      }),
      { numRuns: 1000 }
    )
  })
})

describe('the boundary of a compaction', () => {
  it('moves back only to keep a tool and its result together, also a result that is still to come', () => {
    const tools = rowsOf('u a+1 u u-1 a t t u')
    expect([0, 1, 2, 3, 4, 5, 6, 7, 8, 99].map((at) => boundaryBefore(tools, at))).to.deep.equal([0, 1, 1, 1, 4, 4, 4, 7, 8, 99])
    expect(boundaryBefore(rowsOf('t t u'), 1)).to.equal(0)
    expect(boundaryBefore(rowsOf('u a+1 u-1 a u-1'), 3)).to.equal(1)
    expect(boundaryBefore([], 5)).to.equal(5)
    expect(boundaryBefore(rowsOf('u a+1'), 2)).to.equal(1)
    expect(boundaryBefore(rowsOf('u a+1 s a'), 4)).to.equal(1)
    expect(boundaryBefore(rowsOf('u a+1 u a'), 4)).to.equal(4)
  })

  it('is the largest one that does', () => {
    fc.assert(
      fc.property(scripts, fc.nat({ max: 20 }), fc.nat({ max: 20 }), (script, at, gap) => {
        const rows = rowsOf(script).map((row) => ({ ...row, seq: row.seq * 2 + (row.seq > gap ? 3 : 0) }))
        let expected = at
        const isBad = (seq: number) =>
          isParted(rows, seq) || isWaiting(rows, seq) || rows.find((row) => row.seq > seq)?.role === 'tool'
        while (expected > 0 && isBad(expected)) expected--
        expect(boundaryBefore(rows, at)).to.equal(expected)
      }),
      { numRuns: 1000 }
    )
  })
})

/** Scripts in which each tool is used once: only then is it plain which result belongs to which use. */
const scripts = fc
  .array(fc.constantFrom('u', 'u', 'a', 's', 't', 'a+', 'a+', 'u-', 'u-', 't-', 'a+-'), { maxLength: 20, size: 'max' })
  .chain((words) => fc.tuple(fc.constant(words), fc.infiniteStream(fc.boolean())))
  .map(([words, coins]) => {
    const open: number[] = []
    let id = 0
    return words
      .map((word) => {
        if (word.includes('+')) open.push(++id)
        const used = word.includes('+') ? `+${id}` : ''
        const answered = word.includes('-') ? (coins.next().value === true ? open.shift() : open.pop()) : undefined
        return `${word[0]}${used}${answered === undefined ? '' : `-${answered}`}`
      })
      .join(' ')
  })

/** Up to here a tool was called that nobody has answered, and nobody has prompted since. */
function isWaiting(rows: readonly TurnRow[], seq: number): boolean {
  const blocks = ({ content }: TurnRow) => content as unknown as Record<string, unknown>[]
  const answered = new Set(rows.flatMap(blocks).map((block) => block.tool_use_id))
  const before = rows.filter((row) => row.seq <= seq)
  const isPrompt = (row: TurnRow) => row.role === 'user' && !blocks(row).some(({ type }) => type === 'tool_result')
  return before
    .slice(before.findLastIndex(isPrompt) + 1)
    .some((row) => blocks(row).some(({ type, id }) => type === 'tool_use' && !answered.has(id)))
}

function isParted(rows: readonly TurnRow[], seq: number): boolean {
  const ids = (kind: string, some: readonly TurnRow[]): unknown[] =>
    some.flatMap(({ content }) =>
      (content as unknown as Record<string, unknown>[]).filter(({ type }) => type === kind).map((b) => b.id ?? b.tool_use_id)
    )
  const uses = ids(
    'tool_use',
    rows.filter((row) => row.seq <= seq)
  )
  return ids(
    'tool_result',
    rows.filter((row) => row.seq > seq)
  ).some((id) => uses.includes(id))
}

function rowOf(word: string, seq: number): TurnRow {
  const role = ({ u: 'user', a: 'assistant', s: 'system', t: 'tool' } as const)[word[0] as 'u' | 'a' | 's' | 't']
  const blocks = Array.from(word.matchAll(/([+-])(\d+)/g), ([, sign, id]) =>
    sign === '+' ? { type: 'tool_use', id, name: 'x', input: {} } : { type: 'tool_result', tool_use_id: id }
  )
  return { seq, role, content: blocks as Content }
}
