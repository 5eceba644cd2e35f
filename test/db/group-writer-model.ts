import fc from 'fast-check'

/** What a unit of the group writer's tests does to some counters; `right` is the version of the right that it was decided on. */
export type Command =
  | { do: 'create'; id: string }
  | { do: 'bump'; id: string; right: number }
  | { do: 'bumpBoth'; id: string; other: string; right: number }
  /** A step that may touch nothing comes first. */
  | { do: 'bookThenBump'; id: string; other: string; right: number }
  | { do: 'bumpThenCreate'; id: string; other: string; right: number }
  | { do: 'revoke' }
  | { do: 'note' }

export interface Model {
  counters: Record<string, number>
  journal: [unit: number, version: number | null][]
}

const id = fc.constantFrom('a', 'b', 'c')
const right = fc.integer({ min: 1, max: 3 })

export const commands: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ do: fc.constant('create' as const), id }),
  fc.record({ do: fc.constant('bump' as const), id, right }),
  fc.record({ do: fc.constant('bumpBoth' as const), id, other: id, right }),
  fc.record({ do: fc.constant('bookThenBump' as const), id, other: id, right }),
  fc.record({ do: fc.constant('bumpThenCreate' as const), id, other: id, right }),
  fc.constant<Command>({ do: 'revoke' }),
  fc.constant<Command>({ do: 'note' })
)

export function newModel(): Model {
  return { counters: { right: 1 }, journal: [] }
}

/** One unit after the other, all of it or nothing: what sharing a transaction must not change. */
export function applyToModel(model: Model, command: Command, unit: number): number | string | null {
  const counters = { ...model.counters }
  const answer = change(counters, command)
  if (answer === null || answer === 'duplicate') return answer
  model.counters = counters
  model.journal.push([unit, typeof answer === 'number' ? answer : null])
  return answer
}

function change(counters: Record<string, number>, command: Command): number | string | null {
  const bump = (name: string, version: number) => {
    const now = counters[name]
    return now === undefined || counters['right'] !== version ? null : (counters[name] = now + 1)
  }
  const create = (name: string) => (name in counters ? 'duplicate' : (counters[name] = 1))
  switch (command.do) {
    case 'create':
      return create(command.id)
    case 'bump':
      return bump(command.id, command.right)
    case 'bumpBoth':
      return bump(command.id, command.right) && bump(command.other, command.right)
    case 'bookThenBump':
      bump(command.id, command.right)
      return bump(command.other, command.right)
    case 'bumpThenCreate':
      return bump(command.id, command.right) && create(command.other)
    case 'revoke':
      return bump('right', counters['right']!)
    case 'note':
      return 'recorded'
  }
}
