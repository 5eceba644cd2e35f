import type { Content } from '../schema/messages.js'
import { plainText } from './message-text.js'

/** PostgreSQL's tsvector ends at 1 MB, which its positions count towards as well. */
const MAX_INDEX_BYTES = 400_000
const MAX_WORD_LENGTH = 64

export interface SearchTerm {
  word: string
  prefix: boolean
}

/** The words of a text, in order and with repeats. Index, search and snippet find the same ones because all ask here. */
export function wordsIn(text: string): string[] {
  return Array.from(wordsWithPlaces(foldCase(text)), ({ word }) => word)
}

/** The distinct words of a message with one space between: what both databases index. */
export function indexWords(content: Content): string {
  const kept = new Set<string>()
  let bytes = -1
  for (const { word } of wordsWithPlaces(foldCase(plainText(content)))) {
    if (kept.has(word)) continue
    bytes += 1 + Buffer.byteLength(word)
    if (bytes > MAX_INDEX_BYTES) break
    kept.add(word)
  }
  return [...kept].join(' ')
}

/** The words that somebody typed into a search box; all of them have to match, so a whole word outdoes its own prefix. */
export function parseSearch(search: string): SearchTerm[] {
  const terms = new Map<string, SearchTerm>()
  const folded = foldCase(search)
  for (const { word, end } of wordsWithPlaces(folded)) {
    const prefix = folded[end] === '*' && terms.get(word)?.prefix !== false
    terms.set(word, { word, prefix })
  }
  return [...terms.values()]
}

/** Lower case may undo the normal form. The final sigma is folded too: whether a sigma is one depends on its neighbours. */
export function foldCase(text: string): string {
  return normalForm(normalForm(text).toLowerCase()).replaceAll('ς', 'σ')
}

/**
 * NFKC, of at most 30 marks in a row as Unicode's stream-safe text has them: sorting a row of marks takes the square of its
 * length (40,000 pairs of U+0316 U+0301 took 7 s), and one message must not stop everybody.
 */
export function normalForm(text: string): string {
  return text.replace(TOO_MANY_MARKS, '$1').normalize('NFKC')
}

const TOO_MANY_MARKS = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu

/** The words of a folded text and where they are in it. */
export function* wordsWithPlaces(folded: string): Generator<{ word: string; start: number; end: number }> {
  let rest = -1
  for (const { 0: found, 1: single, index: start } of folded.matchAll(WORD)) {
    const end = start + found.length
    const isRest = start === rest && single === undefined
    rest = found.length >= MAX_RUN && [...found].length === MAX_RUN ? end : -1
    if (!isRest)
      yield { word: found.length > MAX_WORD_LENGTH ? [...found].slice(0, MAX_WORD_LENGTH).join('') : found, start, end }
  }
}

/**
 * Languages that write no spaces get one word per character: then every part of a sentence is found. A mark does not begin a
 * word, or the invisible selector behind an emoji would be one. 'ー' belongs to no script of its own. A run is taken in steps,
 * for the stack of a regular expression ends after some million characters.
 */
const MAX_RUN = 256
const CJK = '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}ー]'
const WORD = new RegExp(
  `([[\\p{L}\\p{N}]&&${CJK}])|[[\\p{L}\\p{N}]--${CJK}][[\\p{L}\\p{M}\\p{N}]--${CJK}]{0,${MAX_RUN - 1}}`,
  'gv'
)
