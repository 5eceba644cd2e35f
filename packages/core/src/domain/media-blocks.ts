export interface Media {
  kind: 'image' | 'audio' | 'document'
  /** What people call it: title, name, alternative text or file name. */
  names: string[]
  mediaType: string | null
  url: string | null
  hasPayload: boolean
}

/** What an image, audio or document block says about itself, in any of the shapes that the usual APIs send; else null. */
export function mediaOf(block: unknown): Media | null {
  if (!isRecord(block) || typeof block.type !== 'string') return null
  const kind = KINDS.get(block.type)
  if (kind === undefined) return null
  const holders = [block, ...HOLDERS.map((key) => block[key]).filter(isRecord)]
  const strings = (keys: readonly string[]): string[] =>
    holders.flatMap((holder) => keys.map((key) => holder[key]).filter((value) => typeof value === 'string'))
  const url = strings(['url', 'image_url', 'file_url'])[0] ?? null
  return {
    kind,
    names: strings(['title', 'name', 'alt', 'filename']),
    mediaType: strings(['media_type', 'mime_type', 'mimeType'])[0] ?? null,
    url,
    hasPayload: url !== null || strings(PAYLOAD_KEYS).length > 0
  }
}

export const PAYLOAD_KEYS = ['data', 'base64', 'file_data'] as const

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const KINDS = new Map<string, Media['kind']>([
  ['image', 'image'],
  ['image_url', 'image'],
  ['input_image', 'image'],
  ['audio', 'audio'],
  ['input_audio', 'audio'],
  ['document', 'document'],
  ['file', 'document'],
  ['input_file', 'document']
])

const HOLDERS = ['source', 'image_url', 'input_audio', 'file'] as const
