/** One times the size. The long session is one of the sessions; the others have a few messages each. */
export const MESSAGES = 1000
export const SESSIONS = 100
export const WORKTREES = 5
export const OTHER_MESSAGES = 10

/** How many messages have the rare word, whatever the size: in the long session, and as many in the others. */
export const RARE = 10

export const words = { rare: 'quokka', some: 'lantern', every: 'stoa' } as const

/** A third of the worktrees: half of those by a grant, half as everybody does. */
export function sees(worktree: number): 'by grant' | 'as others' | null {
  if (worktree % 3 !== 0) return null
  return worktree % 2 === 0 ? 'by grant' : 'as others'
}

/** About 200 characters; each seventh has a word that is neither in all of them nor rare, and so have those with the rare one. */
export function textOf(n: number, rare: boolean): string {
  const filler = Array.from({ length: 24 }, (_, index) => `word${(n * 31 + index * 97 + (n % 13) * index) % 3000}`)
  const some = rare || n % 7 === 0 ? [words.some] : []
  return [...filler, words.every, ...some, ...(rare ? [words.rare] : [])].join(' ')
}
