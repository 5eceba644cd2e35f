import { estimateTokens, previewOf } from '@stoa/core/domain/message-text'
import { toolBlocks } from '@stoa/core/domain/turns'
import { indexWords } from '@stoa/core/domain/words'
import type { Content } from '@stoa/core/schema/messages'

/** A message's content, and what is kept beside it so that lists, search, forks and the context need not read it. */
export interface ContentColumns {
  content: string
  preview: string
  tokens_estimated: number
  tool_blocks: string | null
  words: string
}

export function contentColumns(content: Content): ContentColumns {
  const tools = toolBlocks(content)
  return {
    content: JSON.stringify(content),
    preview: previewOf(content),
    tokens_estimated: estimateTokens(content),
    tool_blocks: tools.length > 0 ? JSON.stringify(tools) : null,
    words: indexWords(content)
  }
}
