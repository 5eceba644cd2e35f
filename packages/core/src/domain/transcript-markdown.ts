import type { Message } from '../schema/messages.js'
import type { Session } from '../schema/sessions.js'
import { isRecord, mediaOf, PAYLOAD_KEYS, type Media } from './media-blocks.js'

const MAX_SLUG = 60

/** Deeper JSON is left out: indented, its size grows with the square of the depth. The JSON export has it. */
const MAX_DEPTH = 32

type Head = Pick<Session, 'session_id' | 'title' | 'agent' | 'model' | 'created_at'>
type Entry = Pick<Message, 'seq' | 'role' | 'content' | 'created_at' | 'edited_at'> & { boundary_seq?: number | null }

export function markdownHead({ session_id, title, agent, model, created_at }: Head): string {
  const facts = [`Session: ${session_id}`, `Created: ${created_at}`]
  if (agent !== null) facts.push(`Agent: ${oneLine(agent)}`)
  if (model !== null) facts.push(`Model: ${oneLine(model)}`)
  return `# ${oneLine(title ?? '') || 'Untitled session'}\n\n${facts.map((fact) => `- ${fact}\n`).join('')}\n`
}

/** Ends with an empty line, so that messages can be written one after the other. */
export function markdownMessage({ seq, role, content, created_at, edited_at, boundary_seq }: Entry): string {
  const edited = edited_at === null ? '' : ` · edited ${edited_at}`
  const parts = [`## ${seq} · ${role} · ${created_at}${edited}`]
  if (typeof boundary_seq === 'number') parts.push(`_(stands for all messages up to ${boundary_seq})_`)
  const blocks: unknown[] = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
  if (blocks.length === 0) parts.push('_(empty)_')
  for (const block of blocks) parts.push(markdownBlock(block))
  return `${parts.join('\n\n')}\n\n`
}

/** Safe in a header and on every file system: `[a-z0-9-]` and the ending. */
export function exportFileName({ session_id, title }: Pick<Head, 'session_id' | 'title'>, format: 'json' | 'md'): string {
  const slug = (title ?? '')
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, MAX_SLUG)
    .replace(/-$/, '')
  return `${slug || 'session'}-${session_id}.${format}`
}

function markdownBlock(block: unknown): string {
  if (isRecord(block) && block.type === 'text' && typeof block.text === 'string') return block.text
  const media = mediaOf(block)
  return media === null ? fenced(JSON.stringify(readable(block), null, 2)) : markdownMedia(media)
}

function markdownMedia(media: Media): string {
  const href = linkTarget(media.url)
  if (href === null) return `_[${escapeMarkup(describe(media))}]_`
  return `[${escapeMarkup(media.names[0] ? `${media.kind}: ${media.names[0]}` : media.kind)}](${href})`
}

function describe({ kind, mediaType, names }: Media): string {
  return [kind, mediaType, names[0]].filter((part) => typeof part === 'string' && part !== '').join(', ')
}

/** Only what a reader may follow: no `data:`, no `javascript:`, and nothing that ends the link early. */
function linkTarget(url: string | null): string | null {
  if (url === null || !URL.canParse(url)) return null
  const { protocol, href } = new URL(url)
  if (protocol !== 'http:' && protocol !== 'https:') return null
  return href.replace(/[()<>\\\s]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** A copy without what nobody can read: the bytes of files, wherever they are. */
function readable(value: unknown, depth = 0, isInMedia = false): unknown {
  if (typeof value === 'string') return DATA_URL.test(value) ? omitted(value) : value
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return '[deeper]'
  const isMedia = isInMedia || mediaOf(value) !== null
  if (Array.isArray(value)) return value.map((inner) => readable(inner, depth + 1, isMedia))
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const isBytes = PAYLOAD_KEYS.some((name) => name === key) && typeof inner === 'string' && (isMedia || BASE64.test(inner))
      return [key, isBytes ? omitted(inner) : readable(inner, depth + 1, isMedia)]
    })
  )
}

const DATA_URL = /^data:[^,]{0,200};base64,/i
/** Long enough to be no word, and nothing else in it. */
const BASE64 = /^[A-Za-z0-9+/_=\r\n-]{64,}$/

function omitted(bytes: string): string {
  return `[${bytes.length} characters of data]`
}

/** Longer than any run of backticks inside, so nothing inside can end it. */
function fenced(text: string): string {
  const longest = (text.match(/`+/g) ?? []).reduce((length, run) => Math.max(length, run.length), 0)
  const fence = '`'.repeat(Math.max(3, longest + 1))
  return `${fence}json\n${text}\n${fence}`
}

function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ').trim()
}

function escapeMarkup(text: string): string {
  return oneLine(text).replace(/[\\`*_[\]<>]/g, '\\$&')
}
