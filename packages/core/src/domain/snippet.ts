import { foldCase, normalForm, wordsWithPlaces, type SearchTerm } from './words.js'

const LENGTH = 200
const BEFORE = 60

/** Exact places cost a copy of the text, so a huge one is searched exactly only around the first likely place. */
const MAX_SEARCHED = 10_000

/** About 200 characters around the first match, as HTML: matches in `<mark>`, all else escaped. Without one, the beginning. */
export function snippet(text: string, terms: readonly SearchTerm[]): string {
  const skipped = likelyStart(text, terms)
  const line = text
    .slice(skipped, skipped + MAX_SEARCHED)
    .toWellFormed()
    .replace(SPACES, ' ')
    .trim()
  const matches = matchesIn(line, terms)
  let match = matches.next()
  const start = match.done === true ? 0 : wholeAt(line, match.value.start - BEFORE)
  const end = wholeAt(line, start + LENGTH)
  const html: string[] = []
  let at = start
  for (; match.done !== true && match.value.start < end; match = matches.next()) {
    // One character such as '㍿' may hold several words.
    const from = Math.max(at, match.value.start)
    const to = Math.min(end, match.value.end)
    if (from >= to) continue
    html.push(escapeHtml(line.slice(at, from)), '<mark>', escapeHtml(line.slice(from, to)), '</mark>')
    at = to
  }
  html.push(escapeHtml(line.slice(at, end)))
  const isCut = end < line.length || text.length > skipped + MAX_SEARCHED
  return `${start > 0 || skipped > 0 ? '…' : ''}${html.join('').trim()}${isCut ? '…' : ''}`
}

/** Of a huge text, a little before the first place that looks like a match. */
function likelyStart(text: string, terms: readonly SearchTerm[]): number {
  if (text.length <= MAX_SEARCHED || terms.length === 0) return 0
  const words = terms.map(({ word, prefix }) => (prefix ? word : `${word}(?![\\p{L}\\p{M}\\p{N}])`))
  const place = text.search(new RegExp(`(?<![\\p{L}\\p{M}\\p{N}])(?:${words.join('|')})`, 'iu'))
  return place < 0 ? 0 : wholeAt(text, place - LENGTH)
}

/** The same white space as in a preview. */
const SPACES = /[\s\p{Cc}]+/gu

/** The nearest place at or before `at` that halves no surrogate pair. */
function wholeAt(text: string, at: number): number {
  if (at <= 0) return 0
  if (at >= text.length) return text.length
  return text.codePointAt(at - 1)! > 0xffff ? at - 1 : at
}

function* matchesIn(text: string, terms: readonly SearchTerm[]): Generator<{ start: number; end: number }> {
  const whole = new Set(terms.filter(({ prefix }) => !prefix).map(({ word }) => word))
  const prefixes = terms.filter(({ prefix }) => prefix).map(({ word }) => word)
  const { folded, starts, ends } = foldWithPlaces(text)
  for (const { word, start, end } of wordsWithPlaces(folded)) {
    if (!whole.has(word) && !prefixes.some((prefix) => word.startsWith(prefix))) continue
    yield { start: starts[start]!, end: ends[end - 1]! }
  }
}

/**
 * The folded text, and for each of its units where the piece that it came from starts and ends in the original: folding changes
 * lengths ('ﬁ' becomes 'fi', 'e' and an accent become 'é'). A chunk that is its own normal form keeps its places, which spares
 * nearly all texts the way piece by piece, about twenty times as slow.
 */
function foldWithPlaces(text: string): { folded: string; starts: number[]; ends: number[] } {
  const parts: string[] = []
  const starts: number[] = []
  const ends: number[] = []
  for (let at = 0; at < text.length;) {
    const chunk = text.slice(at, chunkEnd(text, at))
    const lower = foldCase(chunk)
    const isPlain = lower.length === chunk.length && normalForm(chunk) === chunk
    for (const piece of isPlain ? [chunk] : chunk.match(PIECE)!) {
      const folded = isPlain ? lower : isAscii(piece) ? piece.toLowerCase() : foldCase(piece)
      for (let unit = 0; unit < folded.length; unit++) {
        starts.push(isPlain ? at + unit : at)
        ends.push(isPlain ? at + unit + 1 : at + piece.length)
      }
      parts.push(folded)
      at += piece.length
    }
  }
  return { folded: parts.join(''), starts, ends }
}

const CHUNK = 512

/** What normalization may merge into the character before it: marks, and the letters of Hangul and half-width Katakana. */
const JOINS = '[\\p{M}\\u1160-\\u11ff\\u3131-\\u318e\\uff9e-\\uffdc]'
const JOINING = new RegExp(`^${JOINS}`, 'u')
const PIECE = new RegExp(`[^]${JOINS}*`, 'gu')

function isAscii(piece: string): boolean {
  return piece.length === 1 && piece.charCodeAt(0) < 0x80
}

function chunkEnd(text: string, start: number): number {
  let end = wholeAt(text, start + CHUNK)
  while (end < text.length && JOINING.test(text.slice(end, end + 2))) end = wholeAt(text, end + 2)
  return end
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character]!)
}
