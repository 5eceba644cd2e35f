import type { Content } from '../schema/messages.js'
import { isRecord, mediaOf } from './media-blocks.js'

const PREVIEW_LENGTH = 200
const TOKENS_PER_MESSAGE = 4
const TOKENS_PER_MEDIUM = 1500
const BYTES_PER_TOKEN = 4
/** Larger than any context; without it a few messages of many empty images would be more than a column holds. */
const MAX_TOKENS = 5_000_000

/** JSON.parse nests deeper than the stack is: what lies deeper than this is no text of a message. */
const MAX_DEPTH = 64

/** What a person would read or look for in a message. */
export function plainText(content: Content): string {
  return [...texts(content)].join('\n')
}

/** One line of at most 200 code points. Reads only as much of the content as it shows. */
export function previewOf(content: Content): string {
  const kept: string[] = []
  for (const text of texts(content)) {
    if (kept.length > 0) kept.push(' ')
    for (const [piece] of text.matchAll(SPACE_OR_WORD)) {
      // More than a preview full, for the white space at its end may go again.
      if (kept.length > PREVIEW_LENGTH) break
      if (!SPACE.test(piece)) kept.push(...piece)
      else if (kept.length > 0 && kept.at(-1) !== ' ') kept.push(' ')
    }
    if (kept.at(-1) === ' ') kept.pop()
    if (kept.length >= PREVIEW_LENGTH) break
  }
  return kept.slice(0, PREVIEW_LENGTH).join('').trimEnd().toWellFormed()
}

/**
 * About how much of a model's context a message takes. Good enough to say when to compact and to show how full a context is;
 * no tokenizer was asked, so nothing may be billed by it. An image, audio or document is a flat guess: its base64 has
 * nothing to do with what it costs.
 */
export function estimateTokens(content: Content): number {
  if (content === null) return TOKENS_PER_MESSAGE
  if (typeof content === 'string')
    return Math.min(MAX_TOKENS, TOKENS_PER_MESSAGE + Math.ceil(Buffer.byteLength(content) / BYTES_PER_TOKEN))
  let bytes = 0
  let media = 0
  // An array and not recursion, so that no depth overflows the stack. The bytes of escapes are left out.
  const open: { value: unknown; isBlock: boolean }[] = [{ value: content, isBlock: true }]
  for (let top = open.pop(); top !== undefined; top = open.pop()) {
    const { value, isBlock } = top
    if (isBlock && mediaOf(value)?.hasPayload === true) media++
    else if (typeof value === 'string') bytes += Buffer.byteLength(value) + 2
    else if (typeof value !== 'object' || value === null) bytes += String(value).length
    else if (Array.isArray(value)) {
      bytes += value.length + 1
      for (const inner of value) open.push({ value: inner, isBlock })
    } else {
      for (const [key, inner] of Object.entries(value)) {
        bytes += Buffer.byteLength(key) + 4
        open.push({ value: inner, isBlock: isBlock && key === 'content' })
      }
      bytes += 1
    }
  }
  return Math.min(MAX_TOKENS, TOKENS_PER_MESSAGE + TOKENS_PER_MEDIUM * media + Math.ceil(bytes / BYTES_PER_TOKEN))
}

/** Control characters count as white space: PostgreSQL keeps no NUL in a text, and a terminal obeys the others. */
const SPACE = /^[\s\p{Cc}]/u
const SPACE_OR_WORD = /[\s\p{Cc}]+|[^\s\p{Cc}]{1,200}/gu

function* texts(content: unknown, depth = 0): Generator<string> {
  if (typeof content === 'string') yield content
  else if (Array.isArray(content) && depth < MAX_DEPTH) for (const block of content) yield* textsOfBlock(block, depth + 1)
}

function* textsOfBlock(block: unknown, depth: number): Generator<string> {
  if (!isRecord(block)) return
  const media = mediaOf(block)
  if (media !== null) yield* media.names
  else if (block.type === 'tool_use') {
    if (typeof block.name === 'string') yield block.name
    yield* stringsIn(block.input, depth)
  } else if (block.type === 'tool_result') yield* texts(block.content, depth)
  else if (typeof block.text === 'string') yield block.text
}

function* stringsIn(value: unknown, depth: number): Generator<string> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'object' && value !== null && depth < MAX_DEPTH)
    for (const inner of Object.values(value)) yield* stringsIn(inner, depth + 1)
}
